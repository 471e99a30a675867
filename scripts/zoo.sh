#!/usr/bin/env bash
# The zoo: `scripts/zoo.sh VERNIER [MODEL...]` exports models of torchvision with random weights,
# validates them layer by layer against PyTorch and against float64, writes the reports to
# examples/reports/ and prints a table of them.
set -euo pipefail
vernier=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
models=("$@")
[ $# -gt 0 ] || models=(resnet18 resnet50 mobilenet_v3_small vit_b_16)
mkdir -p examples/reports

# Exit code 1 is a result here: layers out of tolerance, which the report tells about.
validate() { "$vernier" layers "torchvision/$1" --truth fp64 -o "examples/reports/$1.$2" || [ $? -eq 1 ]; }

for model in "${models[@]}"; do
  validate "$model" json
  validate "$model" md
done

python3 - "${models[@]}" <<'EOF'
import json
import sys

def number(value):
    return float(value) if value is not None else float("-inf")

row = "{:<20} {:>6} {:>9}  {:>9}  {:<38} {}".format
print(row("model", "leaves", "exceeding", "worst", "at", "against float64"))
for model in sys.argv[1:]:
    with open(f"examples/reports/{model}.json") as file:
        report = json.load(file)
    layers = report["layers"]
    worst = max(layers, key=lambda layer: number(layer["max_abs_diff"]))
    ratios = sorted(number(layer["truth"]["ratio"]) for layer in layers if "truth" in layer)
    causes = {layer["cause"] for layer in layers if layer["exceeds_tol"]} - {"inherited"}
    verdict = f"errs {ratios[len(ratios) // 2]:.2f}x as far as PyTorch"
    if causes:
        verdict += ": " + ", ".join(sorted(causes))
    print(row(model, report["layers_total"], report["layers_exceeding"],
              f"{number(worst['max_abs_diff']):.2e}", worst["layer"], verdict))
EOF
