#!/bin/sh
# Measures in parts on the cores of one machine, by GNU parallel, and merges them:
#   examples/cluster/parallel.sh PARTS RESULT COMMAND...
#   examples/cluster/parallel.sh 4 result.json eval model.int8.onnx --reference model.onnx
#   examples/cluster/parallel.sh 4 zoo.html zoo zoo.json
# OPTIONS are parallel's own: OPTIONS='--sshlogin a,b' measures on several machines that see these files.
set -eu
if [ $# -lt 3 ]; then
  echo "usage: $0 PARTS RESULT COMMAND..." >&2
  exit 2
fi
parts=$1 result=$2 command=$3
shift 2
vernier=${VERNIER:-vernier}
in_parallel() {
  # shellcheck disable=SC2086  # several words
  seq "$parts" | parallel --quote --halt now,fail=1 --workdir "$PWD" -j "${JOBS:-$(nproc)}" ${OPTIONS:-} "$@"
}
if [ "$command" = zoo ]; then # rows of a zoo meet in its cache
  in_parallel "$vernier" "$@" --jobs 1 --shard "{}/$parts"
  exec "$vernier" "$@" --collect -o "$result"
fi
folder=$result.parts
mkdir -p "$folder"
in_parallel "$vernier" "$@" --threads 1 --shard "{}/$parts" -o "$folder/{}.vpart"
exec "$vernier" merge "$folder"/*.vpart -o "$result"
