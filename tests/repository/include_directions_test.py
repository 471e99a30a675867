"""The folders of vernier/ may include each other in one direction only."""

import re
import tempfile
import unittest
from pathlib import Path

from source_tree import ROOT, includes, sources

BELOW = {
    "tensor": set(),
    "metrics": {"tensor"},
    "model": {"tensor"},
    "exporting": {"tensor"},
    "runtime": {"tensor", "model", "exporting"},
    "data": {"tensor"},
    "analysis": {"tensor", "metrics", "model", "exporting", "runtime", "data"},
    "report": {"tensor", "metrics", "model", "exporting", "runtime", "data", "analysis"},
    "umbrella": {"tensor", "metrics", "model", "exporting", "runtime", "data", "analysis", "report"},
}
# Libraries that a change of version or of choice should touch in few places: never in a header.
PRIVATE_LIBRARIES = ("onnxruntime", "torch/", "ATen/", "c10/", "google/protobuf/", "nlohmann/")


# Their names, which an installed header may not use, not even declared in advance.
PRIVATE_NAMES = re.compile(r"\b(?:Ort|vernier_onnx|nlohmann|torch|at|google)\s*(?:::|\{)")
# A Model is made of ONNX's own messages; this header declares their names.
SHOWS_ONNX = "vernier/model/onnx.h"

# The library in one header: it may include everything, and nothing includes it.
UMBRELLA = ("vernier/vernier.h", "vernier/vernier.cpp")


def folder_of(path):
    """vernier/tensor/npy.h belongs to tensor, vernier/error.h to no folder: all may include it."""
    if str(path) in UMBRELLA:
        return "umbrella"
    parts = Path(path).parts
    return parts[1] if parts[0] == "vernier" and len(parts) > 2 else ""


def wrong_directions(root):
    for path in sources(root, ["vernier"]):
        source = folder_of(path)
        for included in includes(root / path):
            target = folder_of(included) if included.startswith("vernier/") else ""
            if included.startswith("cli/") or target not in BELOW.get(source, set()) | {source, ""}:
                yield f"{path} includes {included}"


def leaked_libraries(root):
    for path in sources(root, ["vernier", "cli"], (".h",)):
        for included in includes(root / path):
            if included.startswith(PRIVATE_LIBRARIES) or included.endswith(".pb.h"):
                yield f"{path} includes {included}"


def installed_headers(root):
    """What vernier.h reaches, as cmake/InstallHeaders.cmake finds it."""
    waiting, found = [UMBRELLA[0]], set()
    while waiting:
        header = waiting.pop()
        if header not in found:
            found.add(header)
            waiting += [path for path in includes(root / header) if path.startswith("vernier/")]
    return sorted(found)


def private_names(root):
    for header in installed_headers(root):
        if header == SHOWS_ONNX:
            continue
        for line in (root / header).read_text(encoding="utf-8").splitlines():
            if PRIVATE_NAMES.search(line.split("//")[0]):
                yield f"{header}: {line.strip()}"


class IncludeDirections(unittest.TestCase):
    def test_every_folder_of_the_library_has_its_place(self):
        folders = {folder_of(path) for path in sources(ROOT, ["vernier"])} - {""}
        self.assertLessEqual(folders, set(BELOW))

    def test_includes_point_one_way(self):
        self.assertEqual(list(wrong_directions(ROOT)), [])

    def test_no_header_shows_a_library_that_is_ours_to_hide(self):
        self.assertEqual(list(leaked_libraries(ROOT)), [])

    def test_no_installed_header_names_a_private_library(self):
        self.assertEqual(list(private_names(ROOT)), [])

    def test_implementation_is_not_installed(self):
        private = {"vernier/activity.h", "vernier/metrics/kernels.h", "vernier/model/graph.h",
                   "vernier/model/index.h", "vernier/model/insert_switches.h",
                   "vernier/runtime/crash.h"}
        self.assertEqual(private & set(installed_headers(ROOT)), set())
        for header in private:
            self.assertTrue((ROOT / header).exists(), header)

    def test_private_names_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "vernier").mkdir()
            (root / "vernier/vernier.h").write_text('#include "vernier/a.h"\n')
            (root / "vernier/a.h").write_text(
                "// Ort::Session\nnamespace Ort {\nformat::Any f(at::Tensor);\n")
            (root / "vernier/other.h").write_text("Ort::Env environment();\n")
            self.assertEqual(list(private_names(root)), [
                "vernier/a.h: namespace Ort {", "vernier/a.h: format::Any f(at::Tensor);"])

    def test_wrong_includes_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "vernier/tensor").mkdir(parents=True)
            (root / "vernier/tensor/a.h").write_text(
                '#include "vernier/error.h"\n#include "vernier/metrics/b.h"\n'
                '#include "cli/command.h"\n#include <torch/script.h>\n#include "x.pb.h"\n')
            self.assertEqual(list(wrong_directions(root)), [
                "vernier/tensor/a.h includes vernier/metrics/b.h",
                "vernier/tensor/a.h includes cli/command.h"])
            self.assertEqual(list(leaked_libraries(root)), [
                "vernier/tensor/a.h includes torch/script.h",
                "vernier/tensor/a.h includes x.pb.h"])


if __name__ == "__main__":
    unittest.main()
