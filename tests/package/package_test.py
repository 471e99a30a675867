"""The wheel itself: what it weighs and holds, how it is imported, and its examples."""

import doctest
import os
import platform
import re
import subprocess
import unittest
import zipfile
from pathlib import Path

import numpy
import torch
from support import FLOAT, INPUTS, INT8, MNIST, PROGRAM, SOURCE, python

import vernier
from vernier import _api, metrics


class Wheel(unittest.TestCase):
    def test_is_portable(self):
        wheel = Path(os.environ["VERNIER_TEST_WHEEL"])
        newest = int(re.search(r"manylinux_2_(\d+)_", wheel.name)[1])
        older_system = int(platform.libc_ver()[1].split(".")[1]) <= 36  # Debian 12's, which wheels are made on
        self.assertLessEqual(newest, 34 if older_system else 39)
        names = zipfile.ZipFile(wheel).namelist()
        self.assertIn("vernier/py.typed", names)
        for absent in ("onnxruntime", "duckdb", "libtorch", "__pycache__"):
            self.assertFalse([name for name in names if absent in Path(name).name], absent)

    def test_the_program_is_no_script_of_pythons(self):
        self.assertEqual(PROGRAM.read_bytes()[:4], b"\x7fELF")
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"vernier {vernier.__version__}\n", version)
        self.assertIn("site-packages/onnxruntime/capi", version)

    def test_the_program_exports_and_hosts_from_the_package(self):
        result = subprocess.run(
            [PROGRAM, "layers", FLOAT, "--reference", "nothing.py:model"], capture_output=True, text=True, check=False
        )
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing.py: no such file", result.stderr)


class Importing(unittest.TestCase):
    def test_in_any_order(self):
        import itertools

        use = "assert vernier.compare(*sys.argv[1:3], samples=1, inputs=sys.argv[3]).outputs[0].name == 'logits'"
        for order in itertools.permutations(("onnxruntime", "torch", "vernier")):
            with self.subTest(order):
                code = f"import sys\nimport {', '.join(order)}\n{use}\ntorch.ones(3).sum()\n"
                code += "onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
                result = python(code, FLOAT, INT8, INPUTS)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_loads_nothing_that_is_not_needed(self):
        code = "import sys, vernier; print([m for m in ('numpy', 'torch', 'onnxruntime', 'pandas') if m in sys.modules])"
        self.assertEqual(python(code).stdout, "[]\n")


class Examples(unittest.TestCase):
    def test_docstrings(self):
        before = Path.cwd()
        os.chdir(MNIST)
        self.addCleanup(os.chdir, before)
        for module in (vernier, _api, metrics):
            result = doctest.testmod(module)
            self.assertEqual(result.failed, 0, module.__name__)
            self.assertGreater(result.attempted, 0)

    def test_the_page(self):
        before = Path.cwd()
        os.chdir(MNIST)
        self.addCleanup(os.chdir, before)
        page = SOURCE / "docs" / "python.md"
        result = doctest.testfile(str(page), module_relative=False)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 10)


class Metrics(unittest.TestCase):
    def setUp(self):
        generator = numpy.random.default_rng(3)
        self.reference = generator.standard_normal((50, 40), dtype=numpy.float32)
        self.candidate = self.reference + numpy.float32(0.01) * generator.standard_normal((50, 40), dtype=numpy.float32)

    def test_are_numpys(self):
        reference, candidate = (each.astype(numpy.float64) for each in (self.reference, self.candidate))
        noise = reference - candidate
        expected = 10 * numpy.log10((reference**2).sum() / (noise**2).sum())
        self.assertAlmostEqual(metrics.sqnr_db(self.reference, self.candidate), expected, places=10)
        self.assertEqual(metrics.max_abs_diff(self.reference, self.candidate), numpy.abs(noise).max())
        self.assertEqual(
            metrics.argmax_agreement(self.reference, self.candidate),
            (reference.argmax(1) == candidate.argmax(1)).mean(),
        )

    def test_take_what_has_dlpack(self):
        expected = metrics.sqnr_db(self.reference, self.candidate)
        tensors = [torch.from_numpy(each) for each in (self.reference, self.candidate)]
        self.assertEqual(metrics.sqnr_db(*tensors), expected)
        self.assertEqual(metrics.sqnr_db(tensors[0].requires_grad_(), tensors[1]), expected)
        self.assertEqual(metrics.sqnr_db(self.reference.T, self.candidate.T) > 0, True)
        frozen = self.reference.copy()
        frozen.flags.writeable = False
        self.assertEqual(metrics.sqnr_db(frozen, self.candidate), expected)

    def test_every_dtype(self):
        for dtype in "float64 float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool".split():
            array = numpy.ones(4, dtype=dtype)
            self.assertEqual(metrics.max_abs_diff(array, array), 0, dtype)
        half = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
        self.assertEqual(metrics.max_abs_diff(half, half + 1), 1)

    def test_refuse_what_does_not_fit(self):
        for other in (numpy.zeros(6), numpy.zeros((3, 2)), numpy.zeros(4)):
            with self.assertRaisesRegex(vernier.Error, r"the reference is \[?2.3\]?, the candidate .*; reshape"):
                metrics.mse(numpy.zeros((2, 3)), other)
        with self.assertRaisesRegex(vernier.Error, "no numbers"):
            metrics.mse(numpy.zeros(3, dtype=complex), numpy.zeros(3))

    def test_memory_stays_flat(self):
        """An array that was kept would be 8 kB, so 80 MB after so many calls."""
        import resource

        for _ in range(1000):
            metrics.sqnr_db(self.reference.T, self.candidate.T)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(10_000):
            metrics.sqnr_db(self.reference.T, self.candidate.T)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 2048)  # KB


if __name__ == "__main__":
    unittest.main()
