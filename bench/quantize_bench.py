"""What quantizing costs beside ONNX Runtime itself, in processor time and by the clock:

    python3 bench/quantize_bench.py VERNIER MODEL.onnx [--samples 128] [-- --fast]

Runs `VERNIER quantize MODEL` on that many made-up pictures, between two bare passes over them through the Python
package onnxruntime, and prints the ratios. Time by the clock means something on an idle machine only. What follows
`--` goes to VERNIER. MODEL is one of bench/export_models.py: time does not depend on its weights. Needs numpy and
onnxruntime.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime


def measured(who, work):
    def spent():
        usage = resource.getrusage(who)
        return usage.ru_utime + usage.ru_stime

    clock, processor = time.time(), spent()
    work()
    return time.time() - clock, spent() - processor


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vernier")
    parser.add_argument("model")
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(given.model, options, providers=["CPUExecutionProvider"])
    name, shape = session.get_inputs()[0].name, [1, *session.get_inputs()[0].shape[1:]]
    draw = np.random.default_rng(1)
    coarse = draw.normal(size=(given.samples, shape[1], 7, 7)).repeat(shape[2] // 7, 2).repeat(shape[3] // 7, 3)
    samples = (coarse + 0.3 * draw.normal(size=coarse.shape)).astype(np.float32)

    def bare():
        for sample in samples:
            session.run(None, {name: sample[None]})

    bare()
    with tempfile.TemporaryDirectory() as folder:
        data, written = Path(folder) / "data.npz", Path(folder) / "q.onnx"
        np.savez(data, **{name: samples})
        command = [given.vernier, "quantize", given.model, "--data", data, "-o", written, *given.options]
        before = measured(resource.RUSAGE_SELF, bare)
        cost = measured(
            resource.RUSAGE_CHILDREN,
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
        )
        after = measured(resource.RUSAGE_SELF, bare)
    for i, what in enumerate(("by the clock", "processor time")):
        once = (before[i] + after[i]) / 2
        print(f"{what}: {cost[i]:.1f} s, {cost[i] / once:.1f} times the bare {once:.2f} s")


if __name__ == "__main__":
    main()
