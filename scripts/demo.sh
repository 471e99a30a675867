#!/usr/bin/env bash
# The demonstration: `scripts/demo.sh VERNIER` leaves what it made in demo/.
set -euo pipefail
vernier=$(realpath "$1")
python=$("$(dirname "$0")/find_python.sh" numpy)
mkdir -p "$(dirname "$0")/../demo"
cd "$(dirname "$0")/../demo"

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }

step "Two archives: weights in float32, and the same weights after a trip through float16"
"$python" - <<'PYTHON'
import numpy

generator = numpy.random.default_rng(42)
reference = {
    "conv.weight": generator.normal(0, 0.1, (64, 3, 7, 7)),
    "norm.running_var": generator.uniform(1e-8, 1, 64),
    "fc.weight": generator.normal(0, 0.02, (1000, 512)),
    "fc.bias": numpy.zeros(1000),
}
reference = {name: array.astype(numpy.float32) for name, array in reference.items()}
numpy.savez("reference.npz", **reference)
candidate = {name: array.astype(numpy.float16).astype(numpy.float32) for name, array in reference.items()}
numpy.savez("candidate.npz", **candidate)
PYTHON
echo "demo/reference.npz demo/candidate.npz"

step "vernier diff reference.npz candidate.npz"
"$vernier" diff reference.npz candidate.npz
