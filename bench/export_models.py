#!/usr/bin/env python3
"""Exports the torchvision models that the benchmarks run: export_models.py FOLDER [NAME...].

Weights are random but seeded: time and memory do not depend on their values. Models that are
already in the folder are left alone.
"""
import os
import sys

import torch
import torchvision


def export(name, folder):
    path = os.path.join(folder, name + ".onnx")
    if os.path.exists(path):
        return
    torch.manual_seed(42)
    model = getattr(torchvision.models, name)(weights=None).eval()
    torch.onnx.export(
        model,
        torch.zeros(1, 3, 224, 224),
        path + ".tmp",
        opset_version=16,
        input_names=["input"],
        output_names=["logits"],
        do_constant_folding=True,
    )
    os.replace(path + ".tmp", path)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, names = sys.argv[1], sys.argv[2:] or ["resnet18", "vit_b_16"]
    os.makedirs(folder, exist_ok=True)
    # The fused attention of the fast path has no ONNX counterpart; PyTorch before 2.0 has no such
    # switch and does not take that path while exporting.
    if hasattr(torch.backends, "mha"):
        torch.backends.mha.set_fastpath_enabled(False)
    for name in names:
        export(name, folder)


if __name__ == "__main__":
    main()
