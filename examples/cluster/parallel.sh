#!/bin/sh
# The same on the cores of one machine, or with --sshlogin on several, by GNU parallel:
#   examples/cluster/parallel.sh 4 result.json eval model.int8.onnx --reference model.onnx
set -eu
parts=$1 result=$2
shift 2
folder=$result.parts
mkdir -p "$folder"
seq "$parts" | parallel --halt now,fail=1 -j "${JOBS:-$(nproc)}" \
  "${VERNIER:-vernier}" "$@" --threads 1 --shard "{}/$parts" -o "$folder/{}.vpart"
exec "${VERNIER:-vernier}" merge "$folder"/*.vpart -o "$result"
