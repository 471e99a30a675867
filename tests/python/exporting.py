"""What the tests of the exporter share: runs the command in this process, in a folder of its own."""

import contextlib
import io
import json
import os
import tempfile
import textwrap
import unittest
from dataclasses import dataclass
from pathlib import Path

from vernier_export.cli import main

HEADER = """
import torch
from torch import nn
"""


@dataclass
class Outcome:
    exit_code: int
    out: str
    err: str


class ExportTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.output = self.folder / "exported"

    def source(self, code, name="models.py"):
        """Writes a file of models; its function is always `model`."""
        path = self.folder / name
        path.write_text(HEADER + textwrap.dedent(code), encoding="utf-8")
        return f"{path}:model"

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(each) for each in arguments])
        return Outcome(code, out.getvalue(), err.getvalue())

    def export(self, source, *arguments):
        """Exports, and returns the sidecar."""
        outcome = self.run_main(source, "-o", self.output, *arguments)
        self.assertEqual(outcome.exit_code, 0, outcome.err)
        self.err = outcome.err
        return json.loads((self.output / "model.json").read_text(encoding="utf-8"))

    def assert_fails(self, part, source, *arguments):
        """Exit code 2, one line that holds `part`, and no file left behind."""
        before = set(os.listdir(self.folder))
        outcome = self.run_main(source, "-o", self.output, *arguments)
        self.assertEqual(outcome.exit_code, 2)
        line = outcome.err.strip().splitlines()[-1]
        self.assertIn(part, line)
        self.assertTrue(line.startswith("vernier: [export] "), line)
        self.assertEqual(set(os.listdir(self.folder)), before)
