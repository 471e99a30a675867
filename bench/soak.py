"""Memory over a long run: thousands of samples through eval, debug and layers.
    soak.py VERNIER [CANDIDATE REFERENCE] [--samples N] [--inputs auto] [--only COMMAND]
Prints for each command how many seconds it took and the memory in use, without files that are mapped, at an
eighth, a half and at the end of that time. Ends with 1 where the second half takes over 5 % or 8 MB more than
the first."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

MNIST = Path(__file__).parents[1] / "tests/fixtures/mnist"
COMMANDS = {"eval": [], "debug": ["--quick"], "layers": []}


def private_bytes(process):
    """Of a process and those below it; nothing of what has ended meanwhile."""
    try:
        size, resident, shared = map(int, Path(f"/proc/{process}/statm").read_text().split()[:3])
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGESIZE") + sum(map(private_bytes, below))


def soak(command):
    """Exit code, seconds, and the memory at each tenth of a second."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    seen = []
    while process.poll() is None:
        seen.append(private_bytes(process.pid))
        time.sleep(0.1)
    return process.returncode, time.monotonic() - started, [memory for memory in seen if memory]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vernier")
    parser.add_argument("models", nargs="*", default=[str(MNIST / "mnist_cnn.int8.onnx"), str(MNIST / "mnist_cnn.onnx")])
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--inputs", default="normal", help="auto: those that are made up for the model")
    parser.add_argument("--only", choices=COMMANDS)
    arguments = parser.parse_args()
    candidate, reference = arguments.models
    grew = False
    for name, more in COMMANDS.items():
        if arguments.only not in (None, name):
            continue
        line = [arguments.vernier, name, candidate, "--reference", reference, "--samples", str(arguments.samples)]
        code, seconds, seen = soak([*line, "--inputs", arguments.inputs, *more, "-f", "json"])
        if code not in (0, 1, 3):
            sys.exit(f"{name} ended with {code}")
        eighth, half, end = (max(seen[: len(seen) * part // 8]) / 1e6 for part in (1, 4, 8))
        grew |= end > 1.05 * half + 8
        print(f"{name:8} {arguments.samples} samples in {seconds:.0f} s: at most {eighth:.0f} MB until an eighth, "
              f"{half:.0f} MB until half, {end:.0f} MB in all", flush=True)
    return 1 if grew else 0


if __name__ == "__main__":
    sys.exit(main())
