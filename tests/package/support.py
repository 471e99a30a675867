"""What the tests of the package share. They run in an environment that the wheel was installed into."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
MNIST = SOURCE / "tests" / "fixtures" / "mnist"
PROGRAM = Path(sys.executable).parent / "vernier"
FLOAT = str(MNIST / "mnist_cnn.onnx")
INT8 = str(MNIST / "mnist_cnn.int8.onnx")
INPUTS = str(MNIST / "mnist_inputs.npz")
PARQUET = SOURCE / "tests" / "fixtures" / "parquet" / "images.parquet"
LABELLED = str(MNIST / "mnist_labelled.npz")


def command(*arguments, format="json"):
    """The JSON that the installed program prints, and its exit code."""
    result = subprocess.run(
        [str(PROGRAM), *arguments, "-f", format], capture_output=True, text=True, check=False
    )
    return result.stdout, result.returncode


def python(code, *arguments):
    """Runs code in a new interpreter of this environment; returns what it prints."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
