"""An installed vernier works from anywhere: `installation_test.py BUILD_FOLDER`."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout


def programs_and_libraries(prefix):
    """Files that vernier's own build made; those that came along as links or copies are others'."""
    found = [*(prefix / "bin").iterdir(), *(prefix / "lib").rglob("libvernier*.so*")]
    return [path for path in found if path.is_file() and not path.is_symlink()]


def run_paths(path):
    """The folders in which the loader looks for the libraries of a program or library."""
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", output_of("readelf", "-d", path))
    return found.group(1).split(":") if found else []


class Installation(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = Path(cls.folder.name) / "moved"
        first = Path(cls.folder.name) / "first"
        output_of("cmake", "--install", cls.build, "--prefix", first)
        first.rename(cls.prefix)
        cls.vernier = cls.prefix / "bin/vernier"

    def test_the_program_runs_with_the_same_versions_as_the_built_one(self):
        def versions(program):
            return re.sub(r" \(.*\)", "", output_of(program, "--version"))

        self.assertEqual(versions(self.vernier), versions(self.build / "bin/vernier"))
        self.assertIn(f"({self.prefix}/lib/vernier/", output_of(self.vernier, "--version"))

    def test_no_library_is_taken_from_the_build_or_source_folder(self):
        self.assertNotIn(str(ROOT), output_of("ldd", self.vernier))

    def test_libraries_are_looked_for_beside_the_file_that_needs_them(self):
        # An empty entry is the working directory: whoever may write there could put a library.
        for prefix in (self.build, self.prefix):
            for path in programs_and_libraries(prefix):
                with self.subTest(path=path.name):
                    entries = run_paths(path)
                    self.assertTrue(entries)
                    for entry in entries:
                        self.assertTrue(entry.startswith("$ORIGIN/"), entries)

    def test_every_companion_of_the_build_is_installed(self):
        companions = {path.name for path in (self.build / "lib/vernier").iterdir()}
        self.assertLessEqual(companions, {path.name for path in (self.prefix / "lib/vernier").iterdir()})


if __name__ == "__main__":
    Installation.build = Path(sys.argv.pop(1)).resolve()
    unittest.main()
