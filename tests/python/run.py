"""Runs the tests beside it with an interpreter that has PyTorch: the first on PATH that has, or the one
that is named; ends with 77 (skipped) if there is none.
    run.py [--python PROGRAM --pattern 'host*_test.py'] [OPTIONS OF unittest]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SKIPPED = 77


def interpreters():
    yield sys.executable
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        program = Path(folder) / "python3"
        if os.access(program, os.X_OK):
            yield str(program)


def has_torch(program):
    question = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    return subprocess.run([program, "-c", question], check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    parser.add_argument("--pattern", default="*_test.py")
    options, others = parser.parse_known_args()
    if options.python:
        program = options.python if os.access(options.python, os.X_OK) else None
        missing = f"{options.python} is not there; run scripts/setup.sh torch2"
    else:
        program = next((each for each in interpreters() if has_torch(each)), None)
        missing = "no python3 on PATH has PyTorch; run scripts/setup.sh torch"
    if program is None:
        print(f"skipped: {missing}")
        return SKIPPED
    path = os.pathsep.join([str(HERE.parent.parent / "python"), str(HERE)])
    discover = ["discover", "-s", str(HERE), "-p", options.pattern]
    environment = {**os.environ, "PYTHONPATH": path}
    command = [program, "-B", "-m", "unittest", *discover, *others]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
