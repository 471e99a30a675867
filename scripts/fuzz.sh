#!/usr/bin/env bash
# Runs every fuzz target, or those that are named, for some seconds each: `scripts/fuzz.sh PROGRAM SECONDS
# [TARGET...]`. What it learns is kept in build/fuzz/corpus; an input that brings a reader down is left in
# build/fuzz/found, to be fixed and then kept in tests/fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1 seconds=$2
shift 2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || read -ra targets < <(VERNIER_FUZZ_TARGET='' "$program" 2>&1 | sed -n 's/.*one of: //p')
failed=()
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target log=build/fuzz/$target.log
  mkdir -p "$corpus" build/fuzz/found/"$target"
  if VERNIER_FUZZ_TARGET=$target "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix=build/fuzz/found/"$target"/ -print_final_stats=1 "$corpus" >"$log" 2>&1; then
    printf '%-16s %9s inputs, nothing found\n' "$target" "$(sed -n 's/stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%-16s FOUND: %s\n' "$target" "$(grep -m1 -E 'ERROR: |runtime error|terminate called|what\(\)|SUMMARY' "$log" || tail -1 "$log")"
    failed+=("$target")
  fi
done
[ ${#failed[@]} = 0 ] || { echo "see build/fuzz/{${failed[*]}}.log and build/fuzz/found" >&2; exit 1; }
