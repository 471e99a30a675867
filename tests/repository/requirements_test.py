"""What `pip install .` and CMake say in a clone without the set-up: all that is missing, and what to install."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
CMAKE = shutil.which("cmake")


def configure(*options, **variables):
    with tempfile.TemporaryDirectory() as folder:
        command = [CMAKE, "-S", SOURCE, "-B", folder, "-G", "Ninja", *options]
        environment = {name: value for name, value in os.environ.items() if name != "CXX"}
        result = subprocess.run(
            command, env={**environment, **variables}, capture_output=True, text=True, check=False
        )
    return result.returncode, " ".join(result.stderr.split())


class Requirements(unittest.TestCase):
    def refuses(self, expected, *options, **variables):
        code, text = configure(*options, **variables)
        self.assertEqual(code, 1, text)
        self.assertIn(f"which were not found: {expected}.", text)
        self.assertRegex(text, "scripts/setup.sh build( wheel)? installs all")
        self.assertIn("libfmt-dev", text)

    def test_libraries_that_are_missing_are_told_together(self):
        self.refuses(
            "fmt, CLI11", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"
        )

    def test_so_are_the_headers_of_python_where_its_module_is_built(self):
        self.refuses(
            "the headers of Python", "-DVERNIER_BUILD_PYTHON=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON"
        )

    def test_so_is_a_missing_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refuses("a C++ compiler", PATH=folder)

    def test_so_is_the_compiler_that_pip_names(self):
        self.refuses("the C++ compiler no-such-g++", CXX="no-such-g++ -pthread")


if __name__ == "__main__":
    unittest.main()
