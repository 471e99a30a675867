"""examples/cluster: parallel.sh run by GNU parallel, kubernetes.yaml held against Kubernetes' own schemas."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "cluster"
MNIST = ROOT / "tests" / "fixtures" / "mnist"
VERNIER = sys.argv.pop(1)
# Those of the environment that set-up makes, whose Python may be another one.
PACKAGES = next(iter((ROOT / ".deps" / "cluster").glob("lib/python3.*/site-packages")), None)
if PACKAGES:
    sys.path.append(str(PACKAGES))


def has(*modules):
    return all(importlib.util.find_spec(each) for each in modules)


@unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed")
class Parallel(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vernier-parallel-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_here(self, *command):
        return subprocess.run(
            list(map(str, command)), cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "VERNIER": VERNIER, "JOBS": "2"},
        )

    def test_parts_make_the_bytes_of_one_run(self):
        shutil.copy(MNIST / "mnist_cnn.int8.onnx", self.folder / "a model.onnx")
        command = [
            "eval", "a model.onnx", "--reference", MNIST / "mnist_cnn.onnx", "--input-data",
            MNIST / "mnist_inputs.npz", "--samples", "5", "--fail-if", "sqnr_db<20", "--threads", "1",
        ]
        whole = self.run_here(VERNIER, *command, "-o", "whole.json")
        parts = self.run_here(EXAMPLES / "parallel.sh", 3, "result.json", *command[:-2])
        self.assertEqual(parts.returncode, whole.returncode, parts.stdout)
        self.assertEqual((self.folder / "result.json").read_bytes(), (self.folder / "whole.json").read_bytes())
        self.assertEqual(len(list(self.folder.glob("result.json.parts/*.vpart"))), 3)

    def test_a_part_that_cannot_be_measured_ends_it(self):
        failed = self.run_here(EXAMPLES / "parallel.sh", 2, "result.json", "eval", "none.onnx", "--reference", "b.onnx")
        self.assertNotEqual(failed.returncode, 0)
        self.assertFalse((self.folder / "result.json").exists())

    def test_rows_of_a_zoo_meet_in_its_cache(self):
        for name in ("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz"):
            shutil.copy(MNIST / name, self.folder)
        zoo = {
            "vernier_zoo": 1,
            "options": {"input-data": "mnist_inputs.npz", "samples": 3},
            "models": {"cnn": {"reference": "mnist_cnn.onnx",
                               "precisions": {"int8": "mnist_cnn.int8.onnx", "fp16": {}, "lost": "none.onnx"}}},
        }
        (self.folder / "zoo.json").write_text(json.dumps(zoo))
        done = self.run_here(EXAMPLES / "parallel.sh", 3, "table.json", "zoo", "zoo.json")
        self.assertEqual(done.returncode, 2, done.stdout)
        rows = json.loads((self.folder / "table.json").read_text())["rows"]
        self.assertEqual([row["state"] for row in rows], ["cached", "cached", "failed"])


@unittest.skipUnless(has("yaml", "kubernetes_validate"), "the schemas of Kubernetes are not installed")
class Kubernetes(unittest.TestCase):
    def test_the_jobs_keep_the_schemas_of_kubernetes(self):
        import kubernetes_validate
        import yaml

        jobs = list(yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text()))
        self.assertEqual([job["kind"] for job in jobs], ["Job", "Job"])
        newest = kubernetes_validate.latest_version()
        for job in jobs:
            kubernetes_validate.validate(job, newest, strict=True)
        measure, merge = (job["spec"]["template"]["spec"]["containers"][0]["args"][0] for job in jobs)
        count = jobs[0]["spec"]["completions"]
        self.assertIn(f'--shard "$((JOB_COMPLETION_INDEX + 1))/{count}"', measure)
        self.assertIn(f"-eq {count} ]", merge)
        jobs[0]["spec"]["completion"] = 3
        with self.assertRaises(Exception):
            kubernetes_validate.validate(jobs[0], newest, strict=True)


if __name__ == "__main__":
    unittest.main()
