"""What scoring a text costs beside ONNX Runtime itself, in time and in memory:

    python3 bench/decoder_bench.py VERNIER FOLDER [--length 256] [--blocks 4] [--threads 2]

FOLDER as bench/make_decoder.py makes it: model.onnx, model.int4.onnx, tokens.npz. Runs `VERNIER eval
--task text-generation` on the tokens, and the same runs of both models through the Python package
onnxruntime, one session at a time alive as long as needed; prints both times, their ratio, and the
peak memory of VERNIER beside the size of both models. Needs numpy and onnxruntime.
"""

import argparse
import resource
import subprocess
import time
from pathlib import Path

import numpy as np
import onnxruntime


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


def bare_seconds(folder, tokens, threads):
    """The runs alone; sessions are opened outside the clock."""
    runners = [session(folder / name, threads) for name in ("model.int4.onnx", "model.onnx")]
    start = time.perf_counter()
    for block in tokens:
        for runner in runners:
            runner.run(None, feeds(runner, block[None]))
    return time.perf_counter() - start


def model_bytes(folder):
    return sum(path.stat().st_size for path in folder.glob("model*"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vernier")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    tokens = np.load(options.folder / "tokens.npz")["input_ids"][: options.blocks, : options.length]
    path = options.folder / "bench_tokens.npz"
    np.savez(path, input_ids=tokens)
    command = [options.vernier, "eval", str(options.folder / "model.int4.onnx"), "--reference"]
    command += [str(options.folder / "model.onnx"), "--task", "text-generation"]
    command += ["--dataset", str(path), "--threads", str(options.threads), "--steps", "0"]

    def run(count):
        start = time.perf_counter()
        subprocess.run(command + ["--samples", str(count)], stdout=subprocess.DEVNULL, check=False)
        return time.perf_counter() - start

    first = run(1)
    whole = run(len(tokens))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    bare = bare_seconds(options.folder, tokens[1:].astype(np.int64), options.threads)
    scored = tokens[1:].size
    print(f"vernier      {scored / (whole - first):8.1f} tokens a second")
    print(f"onnxruntime  {scored / bare:8.1f} tokens a second")
    print(f"ratio        {bare / (whole - first):8.2f}")
    print(f"peak memory  {peak / 2**30:8.2f} GiB, both models {model_bytes(options.folder) / 2**30:.2f}")


if __name__ == "__main__":
    main()
