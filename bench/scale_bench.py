#!/usr/bin/env python3
"""What measuring in parts costs: bench/scale_bench.py VERNIER CANDIDATE REFERENCE [--samples N] [--inputs FILE]

For 1, 2, ... workers up to the number of cores: the time of N samples in as many shards at once, each on one
thread, and their merge, against the run in one piece on one thread. Efficiency is the share of ideal per core.
Wall time needs a quiet machine; CPU time counts what the shards do in all, and holds on a busy one too, but
knows nothing of cores that wait for memory. Then what a shard costs beyond loading both models and running
its sample, and how large a part is.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vernier")
    parser.add_argument("candidate")
    parser.add_argument("reference")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--inputs", help=".npz of real inputs; default: normal random ones")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    inputs = ["--input-data", options.inputs] if options.inputs else ["--inputs", "normal"]
    command = [options.vernier, "eval", options.candidate, "--reference", options.reference, *inputs]
    with tempfile.TemporaryDirectory() as folder:
        efficiency(options, command, pathlib.Path(folder))
        overhead(options, command, inputs, pathlib.Path(folder))


def timed(commands):
    """Wall and CPU seconds of commands that run at once."""
    before, start = os.times(), time.perf_counter()
    running = [subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for each in commands]
    for process in running:
        _, errors = process.communicate()
        if process.returncode not in (0, 1, 3):
            sys.exit(errors.decode())
    wall, after = time.perf_counter() - start, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def medians(repeat, measure):
    return [statistics.median(column) for column in zip(*(measure() for _ in range(repeat)))]


def efficiency(options, command, folder):
    command = [*command, "--samples", str(options.samples), "--threads", "1"]
    whole_file, merged_file = folder / "whole.json", folder / "merged.json"
    wall_whole, cpu_whole = medians(options.repeat, lambda: timed([[*command, "-o", str(whole_file)]]))
    print(f"in one piece, one thread: {wall_whole:.2f} s, {cpu_whole:.2f} s of CPU")
    for workers in range(1, (os.cpu_count() or 1) + 1):
        parts = [str(folder / f"{i + 1}-{workers}.vpart") for i in range(workers)]
        shards = [[*command, "--shard", f"{i + 1}/{workers}", "-o", part] for i, part in enumerate(parts)]
        wall, cpu = medians(options.repeat, lambda: timed(shards))
        merging = [[options.vernier, "merge", *parts, "-o", str(merged_file)]]
        wall_merge, cpu_merge = medians(options.repeat, lambda: timed(merging))
        same = merged_file.read_bytes() == whole_file.read_bytes()
        print(
            f"{workers} workers: {wall:.2f} s + {wall_merge:.2f} s to merge; of ideal per core: "
            f"{wall_whole / (workers * wall):.2f} by wall time ({wall_whole / (workers * (wall + wall_merge)):.2f} "
            f"with the merge), {cpu_whole / cpu:.2f} by CPU time ({cpu_whole / (cpu + cpu_merge):.2f}); "
            f"{'the same bytes' if same else 'OTHER BYTES'}"
        )
    size = sum(os.path.getsize(part) for part in parts)
    print(f"parts: {size / options.samples:.0f} bytes a sample")


def overhead(options, command, inputs, folder):
    """Of one sample in one shard; `record` loads one model and runs it, and --version only starts."""
    shard = [*command, "--samples", "1", "--threads", "1", "--shard", "1/1", "-o", str(folder / "one.vpart")]
    cpu = lambda each: medians(options.repeat, lambda: timed([each]))[1]
    outputs = str(folder / "outputs.npz")
    load = lambda model: [options.vernier, "record", model, "--samples", "1", "--threads", "1", "-o", outputs, *(
        inputs if options.inputs else [])]
    start = cpu([options.vernier, "--version"])
    loading = cpu(load(options.candidate)) + cpu(load(options.reference)) - start
    one = cpu(shard)
    print(f"a shard of one sample: {1000 * one:.0f} ms of CPU; starting, loading both models and running them: "
          f"{1000 * loading:.0f} ms; beyond that {1000 * (one - loading):.0f} ms")
    print(f"its part: {os.path.getsize(folder / 'one.vpart')} bytes")


if __name__ == "__main__":
    main()
