#!/usr/bin/env python3
"""Live models for layers_bench, with random but seeded weights: host_models.py FOLDER exports them."""

import sys
from pathlib import Path

import torch


def vit_b_16():
    from torchvision import models

    torch.manual_seed(42)
    return models.vit_b_16(weights=None).eval()


def bert_base():
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(42)
    return BertForSequenceClassification(BertConfig(return_dict=True)).eval()


EXAMPLES = {
    "vit_b_16": {"x": torch.zeros(1, 3, 224, 224)},
    "bert_base": {
        "input_ids": torch.ones(1, 128, dtype=torch.int64),
        "attention_mask": torch.ones(1, 128, dtype=torch.int64),
    },
}


def main(folder):
    for name, inputs in EXAMPLES.items():
        path = Path(folder) / f"{name}.onnx"
        torch.onnx.export(globals()[name](), kwargs=inputs, f=path, dynamo=True, verbose=False)


if __name__ == "__main__":
    main(sys.argv[1])
