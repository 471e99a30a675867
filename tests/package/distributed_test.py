"""vernier.distributed on a real Ray cluster of two nodes, started here for these tests alone."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings
from pathlib import Path

import vernier
from support import FLOAT, INPUTS, INT8, LABELLED, command, python

HAS_RAY = importlib.util.find_spec("ray") is not None
if HAS_RAY:
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # Ray kills workers where the machine's memory runs short: here only the tests do.
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    from vernier import distributed

OF_A_NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@unittest.skipUnless(HAS_RAY, "Ray is not installed; scripts/setup.sh cluster makes an environment with it")
class Distributed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(initialize_head=True, head_node_args={**OF_A_NODE, "include_dashboard": False})
        cls.cluster.add_node(**OF_A_NODE)
        cls.cluster.wait_for_nodes()
        ray.init(address=cls.cluster.address, log_to_driver=False)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()
        cls.cluster.shutdown()

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="vernier-ray-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # Each run's tasks, to ask where they were.
        self.tasks = []
        make = distributed._Tasks.__init__

        def remember(tasks, *arguments):
            self.tasks.append(tasks)
            make(tasks, *arguments)

        patch = unittest.mock.patch.object(distributed._Tasks, "__init__", remember)
        patch.start()
        self.addCleanup(patch.stop)

    def whole(self, *arguments):
        return command(*arguments, "--threads", "1")[0]

    def nodes_of(self, index):
        return ray.get(self.tasks[-1].board.nodes_of.remote(index))

    def on_two_nodes(self):
        """Has every task wait until one was begun on another node. Ray gives the tasks that are left to a worker
        that has done its own: four short ones may be done on one node before the other's worker has started."""
        task = distributed._task

        def waiting(board, index, command, *others):
            here = ray.get_runtime_context().get_node_id()
            ray.get(board.begin.remote(index, here))
            end = time.monotonic() + 120
            begun = lambda: {node for each in range(4) for node in ray.get(board.nodes_of.remote(each))}
            while begun() == {here} and time.monotonic() < end:
                time.sleep(0.05)
            return task(board, index, command, *others)

        patch = unittest.mock.patch.object(distributed, "_task", waiting)
        patch.start()
        self.addCleanup(patch.stop)

    def test_shards_make_the_bytes_of_one_run(self):
        self.on_two_nodes()
        told = []
        result = distributed.evaluate(
            INT8, reference=FLOAT, inputs=INPUTS, samples=9, shards=4,
            progress=lambda *each: told.append(each),
        )
        expected = self.whole("eval", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "9")
        self.assertEqual(result.to_json(), expected)
        self.assertIsInstance(result, vernier.CompareResult)
        self.assertEqual(told[-1], ("shards", 4, 4))
        self.assertEqual(len({self.nodes_of(index)[0] for index in range(4)}), 2)

    def test_tasks_debug_and_layers_are_cut_likewise(self):
        result = distributed.evaluate(
            INT8, reference=FLOAT, task="image-classification", dataset=LABELLED, samples=50, shards=3
        )
        expected = self.whole(
            "eval", INT8, "--reference", FLOAT, "--task", "image-classification", "--dataset", LABELLED, "--samples", "50"
        )
        self.assertEqual(result.to_json(), expected)
        self.assertIsInstance(result, vernier.TaskResult)
        damage = distributed.debug_quantization(FLOAT, INT8, INPUTS, samples=4, shards=2, quick=True)
        self.assertEqual(
            damage.to_json(),
            self.whole("debug", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "4", "--quick"),
        )
        layers = distributed.layers(FLOAT, INT8, INPUTS, samples=4, shards=2)
        self.assertEqual(
            layers.to_json(),
            self.whole("layers", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "4"),
        )

    def kill_a_worker(self, raylets, killed):
        """The first that runs the program, as the raylets' children do."""
        end = time.monotonic() + 120
        while time.monotonic() < end and not killed:
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    parent = int(process.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
                    children = [int(each) for each in process.joinpath(f"task/{process.name}/children").read_text().split()]
                    names = [Path(f"/proc/{child}/comm").read_text().strip() for child in children]
                except (OSError, ValueError, IndexError):
                    continue
                if parent in raylets and "vernier" in names and self.kill(int(process.name), children):
                    killed.append((int(process.name), children))
                    return
            time.sleep(0.01)

    def kill(self, worker, children):
        """Whether the worker was killed while its program ran: that is stopped meanwhile, so as not to end."""
        self.send(children, signal.SIGSTOP)
        while not all(self.state(child) in ("T", "Z", "") for child in children):
            time.sleep(0.001)
        running = all(self.state(child) == "T" for child in children)
        if running:
            os.kill(worker, signal.SIGKILL)
        self.send(children, signal.SIGCONT)
        return running

    def send(self, processes, number):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def state(self, process):
        """A letter; none if there is no such process."""
        try:
            return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return ""

    def raylets(self):
        return {
            each.process.pid
            for node in self.cluster.list_all_nodes()
            for each in node.all_processes.get("raylet", [])
        }

    def test_a_killed_worker_loses_nothing(self):
        expected = self.whole("eval", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "40")
        killed = []
        killer = threading.Thread(target=self.kill_a_worker, args=(self.raylets(), killed))
        killer.start()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = distributed.evaluate(INT8, reference=FLOAT, inputs=INPUTS, samples=40, shards=6)
        killer.join()
        self.assertTrue(killed, "no worker was found to kill")
        self.assertEqual(result.to_json(), expected)
        self.assertIn("was lost and is run again", " ".join(str(each.message) for each in told))
        again = [self.nodes_of(index) for index in range(6) if len(self.nodes_of(index)) > 1]
        self.assertEqual(len(again), 1)
        self.assertNotEqual(again[0][0], again[0][1], "it is run again on another node")
        for child in killed[0][1]:  # the program that it ran has ended with it
            self.assertTrue(self.ends(child))

    def ends(self, process):
        end = time.monotonic() + 30
        while self.state(process) not in ("Z", "") and time.monotonic() < end:
            time.sleep(0.1)
        return self.state(process) in ("Z", "")

    def test_a_node_that_dies_loses_nothing(self):
        expected = self.whole("eval", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "30")
        node = self.cluster.add_node(**OF_A_NODE)
        self.cluster.wait_for_nodes()
        removed = []

        def remove(label, done, total):
            if done >= 1 and not removed:
                removed.append(node)
                self.cluster.remove_node(node, allow_graceful=False)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = distributed.evaluate(
                INT8, reference=FLOAT, inputs=INPUTS, samples=30, shards=9, progress=remove
            )
        self.assertTrue(removed)
        self.assertEqual(result.to_json(), expected)

    def test_errors_are_those_of_the_command(self):
        with self.assertRaisesRegex(vernier.Error, "none.onnx"):
            distributed.evaluate("none.onnx", reference=FLOAT, shards=2)
        with self.assertRaisesRegex(vernier.Error, "reference: expected a path that every node sees, found function"):
            distributed.evaluate(INT8, reference=lambda x: x)

    def test_one_that_is_stopped_says_what_it_has(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = distributed.evaluate(
                INT8, reference=FLOAT, inputs=INPUTS, samples=8, shards=4, progress=lambda _, done, __: done < 2
            )
        self.assertEqual(result.verdict.outcome, "inconclusive")
        self.assertLess(result.run.samples, 8)

    def test_a_sweep_gives_rows_as_they_come(self):
        rows = []
        for row in distributed.sweep(
            [FLOAT, INT8], ["fp16", "w8"], {"one": {"runs": 1}, "two": {"runs": 2}},
            data=INPUTS, samples=16, fast=True, output=self.folder,
        ):
            rows.append(row)
        self.assertEqual(len(rows), 8)
        measured = [each for each in rows if each.model == FLOAT]
        self.assertTrue(all(each.measured and each.row["sqnr_db"] > 15 for each in measured), measured)
        self.assertEqual({(each.precision, each.setting) for each in measured},
                         {("fp16", "one"), ("fp16", "two"), ("w8", "one"), ("w8", "two")})
        self.assertTrue(any(each.failure for each in rows if each.model == INT8))
        self.assertTrue((self.folder / "mnist_cnn" / "one" / "mnist_cnn.w8.onnx").exists())

    def test_rows_of_a_zoo_are_tasks(self):
        for name in (FLOAT, INT8, INPUTS):
            shutil.copy(name, self.folder)
        zoo = {
            "vernier_zoo": 1,
            "options": {"input-data": "mnist_inputs.npz", "samples": 3},
            "models": {"cnn": {"reference": "mnist_cnn.onnx",
                               "precisions": {"int8": "mnist_cnn.int8.onnx", "fp16": {}, "lost": "none.onnx"}}},
        }
        file = self.folder / "zoo.json"
        file.write_text(json.dumps(zoo))
        rows = distributed.zoo(file)["rows"]
        self.assertEqual([row["state"] for row in rows], ["cached", "cached", "failed"])
        self.assertEqual(len(self.tasks[-1].commands), 3)
        distributed.zoo(file)
        self.assertEqual(len(self.tasks[-1].commands), 1, "what is in the cache is no task")


@unittest.skipUnless(HAS_RAY, "Ray is not installed; scripts/setup.sh cluster makes an environment with it")
class WithoutCluster(unittest.TestCase):
    def test_the_remedy_is_named(self):
        # Ray finds any cluster of the machine, whoever runs it: this one looks for none.
        code = """
from unittest.mock import MagicMock, patch
import vernier.distributed
with patch.multiple("ray._private.services", find_gcs_addresses=MagicMock(return_value=set()),
                    find_bootstrap_address=MagicMock(return_value=None)):
    vernier.distributed.evaluate("a.onnx", reference="b.onnx")
"""
        self.assertIn("start one with: ray start --head", python(code).stderr)


if __name__ == "__main__":
    unittest.main()
