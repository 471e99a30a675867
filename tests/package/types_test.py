"""What type checkers see: the package itself, and a program that uses it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SOURCE

import vernier

# As README and docs/python.md use it.
USER = """
import numpy
from typing_extensions import assert_type

import vernier

result = vernier.compare(reference="a.onnx", candidate="b.onnx", inputs={"x": numpy.zeros((1, 3))}, samples=3)
assert_type(result, vernier.CompareResult)
assert_type(result.passed, bool | None)
assert_type(result.verdict.reason, str)
assert_type(result.outputs["logits"].passed, bool)
assert_type(result.to_json(), str)
origin = vernier.layers(reference="a.onnx", candidate="b.onnx").drift_origin
if origin is not None:
    assert_type(origin.layer, str)
damage = vernier.debug_quantization("a.onnx", "b.onnx", samples=3)
assert_type(damage.activations[0].tensor_name, str)
assert_type(damage.weights["w"].weight_sqnr_db, float | None)
score = vernier.evaluate("a.onnx", task="image-classification", dataset="folder").metrics["top1_accuracy"]
assert_type(score.candidate, float | None)
assert_type(vernier.metrics.sqnr_db([1.0], [1.0]), float)
result.save("report.html")
try:
    vernier.check("a.onnx")
except vernier.Error as error:
    print(error)
"""


# Without PyTorch, whose types take minutes to read.
TOOLS = os.environ["VERNIER_TEST_TOOLS"]
PYTHON = SOURCE / "python"
CONFIGURATION = SOURCE / "pyproject.toml"


class Types(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "user.py").write_text(USER)

    def passes(self, *command):
        result = subprocess.run(
            list(map(str, command)), cwd=self.folder, env={**os.environ, "MYPYPATH": str(PYTHON)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_stubs_are_what_is_generated(self):
        package = Path(vernier.__file__).parent
        made = self.folder / "made.pyi"
        self.passes(sys.executable, "-m", "nanobind.stubgen", "-i", package, "-m", "_vernier", "-o", made)
        self.assertEqual((PYTHON / "vernier" / "_vernier.pyi").read_text(), made.read_text())

    def test_mypy(self):
        mypy = [TOOLS, "-m", "mypy", "--config-file", CONFIGURATION, "--cache-dir", "cache"]
        self.passes(*mypy, "-p", "vernier")
        self.passes(*mypy, "user.py")

    def test_pyright(self):
        pyright = [TOOLS, "-m", "basedpyright", "--project"]
        self.passes(*pyright, CONFIGURATION, *(PYTHON / "vernier").glob("*.py"))
        settings = {"typeCheckingMode": "strict", "extraPaths": [str(PYTHON)], "reportMissingModuleSource": False}
        (self.folder / "pyrightconfig.json").write_text(json.dumps(settings))
        self.passes(*pyright, self.folder)


if __name__ == "__main__":
    unittest.main()
