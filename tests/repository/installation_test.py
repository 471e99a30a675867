"""An installed vernier works from anywhere: `installation_test.py BUILD_FOLDER`."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout


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
        built = output_of(self.build / "bin/vernier", "--version")
        self.assertEqual(output_of(self.vernier, "--version"), built)

    def test_no_library_is_taken_from_the_build_or_source_folder(self):
        self.assertNotIn(str(ROOT), output_of("ldd", self.vernier))

    def test_every_companion_of_the_build_is_installed(self):
        companions = {path.name for path in (self.build / "lib/vernier").iterdir()}
        self.assertLessEqual(companions, {path.name for path in (self.prefix / "lib/vernier").iterdir()})


if __name__ == "__main__":
    Installation.build = Path(sys.argv.pop(1)).resolve()
    unittest.main()
