"""What scoring a text costs beside ONNX Runtime itself, in time and in memory:

    python3 bench/decoder_bench.py VERNIER FOLDER [--length 256] [--blocks 4] [--threads 1]

FOLDER as bench/make_decoder.py makes it: model.onnx, model.int4.onnx, tokens.npz. Runs `VERNIER eval
--task text-generation` on one block of tokens and on `--blocks` more, and the runs of these through the
Python package onnxruntime; so opening the models is not counted on either side. Prints tokens a second
by the clock and by processor time, which other programs do not change, the ratios, and the peak memory
of VERNIER for one block and for all, beside the size of both models. Needs numpy and onnxruntime.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

TARGET = 0.9  # of the tokens a second of ONNX Runtime itself


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feeds(runner, tokens):
    length = tokens.shape[1]
    values = {}
    for given in runner.get_inputs():
        if given.name == "input_ids":
            values[given.name] = tokens
        elif given.name == "attention_mask":
            values[given.name] = np.ones((1, length), np.int64)
        elif given.name == "position_ids":
            values[given.name] = np.arange(length, dtype=np.int64)[None]
        else:
            shape = [1, given.shape[1], 0, given.shape[3]]
            values[given.name] = np.zeros(shape, np.float32)
    return values


class Cost:
    """Seconds by the clock and of processor time."""

    def __init__(self, wall, processor):
        self.wall, self.processor = wall, processor

    def __sub__(self, other):
        return Cost(self.wall - other.wall, self.processor - other.processor)


def bare_cost(folder, tokens, threads):
    """The runs alone; sessions are opened, and run once, outside the clock."""
    runners = [session(folder / name, threads) for name in ("model.int4.onnx", "model.onnx")]
    for runner in runners:
        runner.run(None, feeds(runner, tokens[:1]))
    start = Cost(time.perf_counter(), time.process_time())
    for block in tokens:
        for runner in runners:
            runner.run(None, feeds(runner, block[None]))
    return Cost(time.perf_counter(), time.process_time()) - start


def command_cost(command):
    """What a command takes, and its peak memory, with the process that supervises it."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):  # pass, fail, inconclusive
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return Cost(wall, used.ru_utime + used.ru_stime), used.ru_maxrss * 1024


def model_bytes(folder):
    paths = [folder / (name + end) for name in ("model", "model.int4") for end in (".onnx", ".data")]
    return sum(path.stat().st_size for path in paths if path.exists())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vernier")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(options, Path(scratch) / "tokens.npz")


def measure(options, path):
    ids = np.load(options.folder / "tokens.npz")["input_ids"].astype(np.int64).reshape(-1)
    count = (1 + options.blocks) * options.length
    tokens = np.resize(ids, count).reshape(-1, options.length)
    np.savez(path, input_ids=tokens)
    command = [options.vernier, "eval", str(options.folder / "model.int4.onnx"), "--reference"]
    command += [str(options.folder / "model.onnx"), "--task", "text-generation"]
    command += ["--dataset", str(path), "--threads", str(options.threads)]
    command += ["--prompt-length", "1", "--steps", "1"]
    first, first_peak = command_cost(command + ["--samples", "1"])
    whole, whole_peak = command_cost(command)
    own = whole - first
    bare = bare_cost(options.folder, tokens[1:], options.threads)
    if min(own.wall, own.processor) <= 0:
        raise SystemExit("the blocks take no longer than one of them: pass more --blocks")
    scored = tokens[1:].size
    print("                 by the clock  of processor time")
    print(f"vernier          {scored / own.wall:12.1f}  {scored / own.processor:12.1f} tokens a second")
    print(f"onnxruntime      {scored / bare.wall:12.1f}  {scored / bare.processor:12.1f}")
    print(f"ratio            {bare.wall / own.wall:12.2f}  {bare.processor / own.processor:12.2f}"
          f" (to reach: {TARGET})")
    print(f"both models      {model_bytes(options.folder) / 2**30:12.2f} GiB")
    print(f"peak, 1 block    {first_peak / 2**30:12.2f} GiB")
    print(f"peak, {1 + options.blocks} blocks   {whole_peak / 2**30:12.2f} GiB")


if __name__ == "__main__":
    main()
