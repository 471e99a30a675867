#!/usr/bin/env bash
# The demonstration: `scripts/demo.sh VERNIER` finds out what is wrong with an int8 model, mends it,
# exports a ResNet-18 with random weights and compares it with PyTorch. What it makes is left in demo/.
set -euo pipefail
vernier=$(realpath "$1")
mkdir -p "$(dirname "$0")/../demo"
cd "$(dirname "$0")/../demo"

step() { printf '\n\033[1m%s\033[0m\n' "$1"; }
show() { printf '$ vernier %s\n' "$*"; "$vernier" "$@"; }

mnist=../tests/fixtures/mnist
step "An int8 model got nearly everything wrong. Why?"
show diagnose $mnist/mnist_cnn.int8_unscaled.onnx $mnist/mnist_cnn.onnx \
  --data $mnist/mnist_inputs.npz -o diagnosis.html || [ $? -eq 1 ]

step "Apply the remedy, and ask again"
show repair $mnist/mnist_cnn.int8_unscaled.onnx --reference $mnist/mnist_cnn.onnx \
  --data $mnist/mnist_inputs.npz -o mnist_cnn.int8.repaired.onnx
show diagnose mnist_cnn.int8.repaired.onnx $mnist/mnist_cnn.onnx --data $mnist/mnist_inputs.npz

step "Export a PyTorch model to ONNX, beside a TorchScript file of the same model"
[ -f resnet18/model.onnx ] || show export torchvision/resnet18 --exporter torchscript -o resnet18

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

step "The report of the first question: demo/diagnosis.html"
