"""Networks for pages of real size, with weights from a seed: make_models.py FOLDER, run by a Python that has torchvision.

resnet18.onnx, and in resnet18.fault.onnx the same with a Relu that became a Sigmoid; vit.onnx has the nodes of
ViT-B/16 in a sixteenth of its width, and in vit.fault.onnx an epsilon of a LayerNormalization is another one.
"""

import sys
from pathlib import Path

import onnx
import torch
import torchvision
from torchvision.models.vision_transformer import VisionTransformer


def export(model, size, path):
    torch.onnx.export(model.eval(), (torch.rand(1, 3, size, size),), path, input_names=["image"],
                      output_names=["logits"], opset_version=17, dynamo=False)
    return onnx.load(path)


def main(folder):
    torch.manual_seed(0)
    resnet = export(torchvision.models.resnet18(weights=None), 64, folder / "resnet18.onnx")
    [node for node in resnet.graph.node if node.op_type == "Relu"][8].op_type = "Sigmoid"
    onnx.save(resnet, folder / "resnet18.fault.onnx")
    torch.backends.mha.set_fastpath_enabled(False)
    small = VisionTransformer(image_size=224, patch_size=16, num_layers=12, num_heads=12, hidden_dim=48, mlp_dim=192)
    torch.nn.init.normal_(small.heads.head.weight)  # it begins with zeros
    vit = export(small, 224, folder / "vit.onnx")
    norm = [node for node in vit.graph.node if node.op_type == "LayerNormalization"][12]
    next(each for each in norm.attribute if each.name == "epsilon").f = 0.01
    onnx.save(vit, folder / "vit.fault.onnx")
    print(len(resnet.graph.node), len(vit.graph.node))


main(Path(sys.argv[1]))
