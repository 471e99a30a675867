#!/usr/bin/env bash
# The demonstration: `scripts/demo.sh VERNIER` exports a ResNet-18 with random weights, compares its
# exports with PyTorch, and leaves what it made in demo/.
set -euo pipefail
vernier=$(realpath "$1")
mkdir -p "$(dirname "$0")/../demo"
cd "$(dirname "$0")/../demo"

step() { printf '\n\033[1m%s\033[0m\n' "$1"; }
show() { printf '$ vernier %s\n' "$*"; "$vernier" "$@"; }

step "Export a PyTorch model to ONNX, beside a TorchScript file of the same model"
[ -f resnet18/model.onnx ] || show export torchvision/resnet18 -o resnet18

step "Is the export faithful? PyTorch and ONNX Runtime on identical inputs"
show eval --model resnet18/model.onnx --reference resnet18/model.pt --samples 20

step "Convert it to float16, and measure what that costs"
show convert resnet18/model.onnx --precision fp16 -o resnet18/model.fp16.onnx
show eval --model resnet18/model.fp16.onnx --reference resnet18/model.pt --samples 20

step "Record the outputs of both, and compare the files"
show record resnet18/model.onnx --samples 20 -o reference.npz
show record resnet18/model.fp16.onnx --samples 20 -o candidate.npz
show diff reference.npz candidate.npz --fail-if 'sqnr_db<40'

step "At which layer does an export start to differ from PyTorch? Every layer, and float64 as the truth"
show layers resnet18/model.onnx --reference resnet18/model.pt --truth fp64
show layers resnet18/model.onnx --reference resnet18/model.pt --truth fp64 -o resnet18/layers.md
show layers resnet18/model.onnx --reference resnet18/model.pt --truth fp64 -o resnet18/layers.json
show layers resnet18/model.fp16.onnx --reference resnet18/model.pt --around 1 --top 3 || [ $? -eq 1 ]
