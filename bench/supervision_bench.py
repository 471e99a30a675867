#!/usr/bin/env python3
"""What it costs that a command runs in a process that the program supervises, and how soon a signal ends it:
bench/supervision_bench.py VERNIER FOLDER [--repeat N], with FOLDER tests/fixtures/mnist.

Runs with and without supervision alternate; a cost is the median of their differences. On a busy machine start it
with `chrt -f 10`, so that nothing else has its turn meanwhile.
"""

import argparse
import os
import resource
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def seconds(command, environment):
    """Wall and CPU time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost(name, command, repeat):
    alone = {**os.environ, "VERNIER_UNSUPERVISED": "1"}
    pairs = [(seconds(command, os.environ), seconds(command, alone)) for _ in range(repeat)]
    wall, cpu = (1000 * statistics.median(on[i] - off[i] for on, off in pairs) for i in (0, 1))
    whole = 1000 * statistics.median(off[0] for _, off in pairs)
    print(f"{name}: {whole:.0f} ms alone; supervised {wall:+.1f} ms, {cpu:+.1f} ms of CPU")


def ending(name, command):
    """From one signal to the end, and from a second one where the work does not answer the first."""
    for answers in (True, False):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        if not answers:
            work = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
            os.kill(work, signal.SIGSTOP)
            process.send_signal(signal.SIGINT)
            time.sleep(0.15)  # signals closer together are one keystroke
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        code = process.wait()
        which = "Ctrl-C" if answers else "a second Ctrl-C"
        print(f"{name}: {1000 * (time.perf_counter() - start):.0f} ms after {which}, exit code {code}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vernier")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=100)
    options = parser.parse_args()
    model, candidate = options.folder / "mnist_cnn.onnx", options.folder / "mnist_cnn.int8.onnx"
    with tempfile.TemporaryDirectory() as folder:
        compare = [options.vernier, "eval", candidate, "--reference", model, "--inputs", "uniform", "--threads", "1"]
        record = [options.vernier, "record", model, "--threads", "1", "-o", Path(folder, "out.npz"), "--samples"]
        cost("inspect", [options.vernier, "inspect", model], options.repeat)
        cost("record of one sample", [*record, "1"], options.repeat)
        cost("eval of two samples", [*compare, "--samples", "2"], options.repeat)
        many = {"record": [*record, "100000000"], "eval": [*compare, "--samples", "100000000"]}
        for command in ("layers", "debug"):
            many[command] = [options.vernier, command, candidate, "--reference", model, "--samples", "100000000"]
        for name, command in many.items():
            ending(name, command)


if __name__ == "__main__":
    main()
