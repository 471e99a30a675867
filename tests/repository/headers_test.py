"""Every header compiles alone: the source of the same name includes it first, or it is compiled here."""

import os
import subprocess
import unittest

from source_tree import ROOT, includes, sources

FOLDERS = ["vernier", "cli", "tests"]


def own_header(source):
    """The header of the same name, None where there is none."""
    header = source.with_suffix(".h")
    return header if (ROOT / header).exists() else None


class Headers(unittest.TestCase):
    def test_every_source_includes_its_own_header_first(self):
        for source in sources(ROOT, FOLDERS, (".cpp",)):
            if own_header(source):
                with self.subTest(source=str(source)):
                    self.assertEqual(includes(ROOT / source)[0], str(own_header(source)))

    def test_headers_without_a_source_compile_alone(self):
        alone = [header for header in sources(ROOT, ["vernier", "cli"], (".h",))
                 if not (ROOT / header).with_suffix(".cpp").exists()]
        compiler = os.environ.get("CXX", "c++")
        run = subprocess.run(
            [compiler, "-std=c++20", "-fsyntax-only", "-I.", "-x", "c++", *map(str, alone)],
            cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_every_header_guards_itself_with_pragma_once(self):
        for header in sources(ROOT, FOLDERS, (".h",)):
            with self.subTest(header=str(header)):
                self.assertIn("#pragma once\n", (ROOT / header).read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
