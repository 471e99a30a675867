"""A program of someone else's can be built on vernier: `consumer_test.py BUILD_FOLDER`.

The ```cpp blocks of docs/api.md and README.md are built against an installation and run where the
fixtures are; a ```text block after one is what it prints. CXX is the compiler.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PAGES = [ROOT / "docs/api.md", ROOT / "README.md"]
SNIPPET = re.compile(r"^```cpp\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PRIVATE = re.compile(r'#\s*include\s*[<"](onnxruntime|torch/|ATen/|c10/|google/protobuf/|nlohmann/|fmt/|hwy/|.*\.pb\.h)')


def output_of(*command, **options):
    run = subprocess.run(command, capture_output=True, text=True, **options)
    if run.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{run.stdout}{run.stderr}")
    return run.stdout


def program(snippet):
    """The snippet itself if it is a whole program, else one around it."""
    if "int main" in snippet:
        return snippet
    includes = "".join(line + "\n" for line in snippet.splitlines() if line.startswith("#include"))
    rest = "\n".join(line for line in snippet.splitlines() if not line.startswith("#include"))
    return f"{includes}#include <iostream>\n\nint main() {{\n{rest}\n}}\n"


def snippets():
    """(name, source, expected output or None) for every block."""
    for page in PAGES:
        for number, (source, output) in enumerate(SNIPPET.findall(page.read_text(encoding="utf-8"))):
            yield f"{page.stem.lower()}_{number}", program(source), output or None


class Consumer(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = Path(cls.folder.name)
        cls.prefix = cls.work / "prefix"
        output_of("cmake", "--install", cls.build, "--prefix", cls.prefix)

    def configure(self, name, *options):
        build = self.work / name
        output_of("cmake", "-G", "Ninja", "-S", HERE, "-B", build, *options)
        return build

    def test_the_snippets_of_the_pages_build_and_run_against_an_installation(self):
        sources = []
        for name, source, _ in snippets():
            sources.append(self.work / f"{name}.cpp")
            sources[-1].write_text(source, encoding="utf-8")
        build = self.configure("installed", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                               f"-DSNIPPETS={';'.join(map(str, sources))}")
        output_of("cmake", "--build", build)
        for name, _, expected in snippets():
            with self.subTest(snippet=name), tempfile.TemporaryDirectory() as folder:
                for fixture in (ROOT / "tests/fixtures/mnist").iterdir():
                    (Path(folder) / fixture.name).symlink_to(fixture)
                printed = output_of(build / name, cwd=folder)
                if expected is not None:
                    self.assertEqual(printed, expected)

    def test_the_sources_alone_bring_the_library_and_nothing_else(self):
        build = self.configure("fetched", f"-DVERNIER_SOURCE={ROOT}", "-DVERNIER_TORCH=OFF",
                               "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON")
        targets = output_of("cmake", "--build", build, "--target", "help")
        self.assertIn("libvernier.so", targets)
        for unwanted in ("vernier_cli", "tensor_test", "knn_bench"):
            self.assertNotIn(unwanted, targets)

    def test_no_installed_header_shows_a_dependency(self):
        headers = list((self.prefix / "include").rglob("*.h"))
        self.assertIn(self.prefix / "include/vernier/vernier.h", headers)
        for header in headers:
            with self.subTest(header=header.name):
                self.assertNotRegex(header.read_text(encoding="utf-8"), PRIVATE)


if __name__ == "__main__":
    Consumer.build = Path(sys.argv.pop(1)).resolve()
    unittest.main()
