"""Runs the tests beside it with an interpreter that has PyTorch; ends with 77 (skipped) if none on
PATH has it."""

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
    program = next((each for each in interpreters() if has_torch(each)), None)
    if program is None:
        print("skipped: no python3 on PATH has PyTorch; run scripts/setup.sh torch")
        return SKIPPED
    path = os.pathsep.join([str(HERE.parent.parent / "python"), str(HERE)])
    command = [program, "-B", "-m", "unittest", "discover", "-s", str(HERE), "-p", "*_test.py"]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command + sys.argv[1:], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
