"""Models of this process: modules, callables, sessions, runners, recorded arrays."""

import threading
import unittest

import numpy
import onnxruntime
import torch
from support import FLOAT, INPUTS, INT8, python

import vernier


def load_inputs(count=4):
    with numpy.load(INPUTS) as file:
        name = file.files[0]
        return name, file[name][:count]


def session(path=FLOAT):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first = torch.nn.Linear(6, 5)
        self.relu = torch.nn.ReLU()
        self.dropout = torch.nn.Dropout(0.5)
        self.second = torch.nn.Linear(5, 3)

    def forward(self, x):
        return self.second(self.dropout(self.relu(self.first(x))))


def export(model, path):
    was_training = model.training
    torch.onnx.export(
        model.eval(), (torch.zeros(1, 6),), path, input_names=["x"], output_names=["y"], dynamo=False
    )
    model.train(was_training)
    return path


class Modules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import tempfile

        cls.folder = tempfile.TemporaryDirectory()
        cls.model = Net()
        cls.path = export(cls.model, cls.folder.name + "/net.onnx")
        cls.inputs = numpy.random.default_rng(1).standard_normal((3, 6), dtype=numpy.float32)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_compare_with_a_module(self):
        result = vernier.compare(self.model, self.path, self.inputs)
        self.assertTrue(result.passed, str(result))
        self.assertEqual(result.run.reference, "Net")
        self.assertGreater(result.outputs["y"].sqnr_db.min, 100)

    def test_a_module_as_the_candidate(self):
        for reference in (self.path, self.model, lambda x: self.model.eval()(torch.from_numpy(x.copy()))):
            result = vernier.compare(reference, self.model, self.inputs)
            self.assertTrue(result.passed, str(result))
        changed = Net()
        with torch.no_grad():
            changed.second.weight[1, 2] += 0.5
        self.assertFalse(vernier.compare(self.path, changed, self.inputs).passed)

    def test_a_task_of_a_module(self):
        labels = self.model.eval()(torch.from_numpy(self.inputs)).argmax(1).numpy()
        dataset = self.folder.name + "/labelled.npz"
        numpy.savez(dataset, x=self.inputs, label=labels)
        result = vernier.evaluate(
            self.path, task="image-classification", dataset=dataset, reference=self.model, k=1, samples="all"
        )
        self.assertEqual(result.metrics["top1_accuracy"].reference, 100)
        self.assertEqual(result.metrics["top1_accuracy"].candidate, 100)

    def test_layers_of_a_module(self):
        result = vernier.layers(self.model, self.path)
        self.assertTrue(result.passed, str(result))
        self.assertEqual([each.layer for each in result.layers], ["first", "relu", "dropout", "second"])

    def test_a_changed_weight_is_the_origin(self):
        changed = Net()
        with torch.no_grad():
            changed.second.weight[1, 2] += 0.5
        result = vernier.layers(changed, self.path)
        self.assertFalse(result.passed)
        self.assertEqual(result.drift_origin.layer, "second")
        self.assertEqual(result.drift_origin.cause, "weight_bit_mismatch")

    def test_operators_of_a_module(self):
        result = vernier.layers(self.model, self.path, ops=True)
        self.assertTrue(result.passed, str(result))
        self.assertTrue(any("addmm" in each.layer for each in result.layers), result.layers.names())

    def test_the_module_is_left_as_it_was(self):
        model = Net().train()
        before = {name: each.clone() for name, each in model.state_dict().items()}
        vernier.compare(model, self.path, self.inputs)
        vernier.layers(model, self.path, truth="fp64")
        self.assertTrue(all(each.training for each in model.modules()))
        for name, each in model.state_dict().items():
            self.assertTrue(torch.equal(each, before[name]) and each.dtype == before[name].dtype)
        self.assertFalse(any(each._forward_hooks for each in model.modules()))

    def test_a_half_precision_module_runs_in_float32(self):
        model = Net().half()
        result = vernier.compare(model, self.path, self.inputs, fail_if="sqnr_db<40", no_weights=True)
        self.assertTrue(result.passed, str(result))
        self.assertEqual(model.first.weight.dtype, torch.float16)

    def test_what_it_raises_is_told_and_chained(self):
        class Broken(Net):
            def forward(self, x):
                raise ValueError("no such thing\nmore")

        with self.assertRaisesRegex(vernier.Error, r"^\[host\] Broken: ValueError: no such thing$") as caught:
            vernier.compare(Broken(), self.path, self.inputs)
        self.assertIsInstance(caught.exception.__cause__, ValueError)

    def test_threads_share_a_module(self):
        results = []

        def work():
            results.append(vernier.layers(self.model, self.path).to_json())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(len(results), 4)
        self.assertEqual(len(set(results)), 1)


class Others(unittest.TestCase):
    def setUp(self):
        self.name, self.array = load_inputs()
        self.expected = vernier.compare(FLOAT, FLOAT, {self.name: self.array}).to_dict()["outputs"]

    def outputs(self, reference, candidate=FLOAT):
        return vernier.compare(reference, candidate, {self.name: self.array}, fail_if="sqnr_db<60")

    def test_a_session(self):
        result = self.outputs(session())
        self.assertTrue(result.passed, str(result))
        self.assertIn("onnxruntime", result.run.reference_runs_in)

    def test_a_callable(self):
        inner = session()
        result = self.outputs(lambda image: inner.run(None, {self.name: image})[0])
        self.assertTrue(result.passed, str(result))
        result = self.outputs(lambda image: 1.001 * inner.run(None, {self.name: image})[0])
        self.assertFalse(self.outputs(lambda image: 1.1 * inner.run(None, {self.name: image})[0]).passed)
        self.assertAlmostEqual(result.outputs["logits"].sqnr_db.mean, 60, places=1)

    def test_a_callable_may_return_what_numpy_has_no_type_for(self):
        inner = session()
        half = lambda image: torch.from_numpy(inner.run(None, {self.name: image})[0]).bfloat16()  # noqa: E731
        result = vernier.compare(half, half, {self.name: self.array})
        self.assertTrue(result.passed, str(result))
        self.assertFalse(self.outputs(half).passed)  # 8 bits of mantissa

    def test_inputs_cannot_be_written(self):
        def writes(image):
            image += 1
            return image

        with self.assertRaisesRegex(vernier.Error, "read-only"):
            self.outputs(writes)

    def test_recorded_arrays(self):
        logits = numpy.stack([session().run(None, {self.name: each[None]})[0] for each in self.array])
        result = self.outputs({"logits": logits})
        self.assertTrue(result.passed, str(result))

    def test_a_runner_that_shows_layers(self):
        inner = session()

        class Runner:
            def run(self, inputs, observer):
                (image,) = inputs.values()
                (logits,) = inner.run(None, inputs)
                if observer:
                    observer("logits", logits)
                return {"logits": logits}

        result = self.outputs(Runner())
        self.assertTrue(result.passed, str(result))
        self.assertEqual(result.run.reference, "Runner")
        shown = vernier.layers(Runner(), FLOAT, {self.name: self.array[:1]})
        self.assertEqual([each.layer for each in shown.layers], ["logits"])
        self.assertTrue(shown.passed, str(shown))

    def test_candidates(self):
        inner = session()

        class Runner:
            def run(self, inputs, observer):
                return {"logits": inner.run(None, inputs)[0]}

        run = lambda image: inner.run(None, {self.name: image})[0]  # noqa: E731
        recorded = {"logits": numpy.stack([run(each[None]) for each in self.array])}
        for candidate in (inner, run, Runner(), recorded):
            with self.subTest(type(candidate).__name__):
                result = self.outputs(FLOAT, candidate)
                self.assertTrue(result.passed, str(result))
                self.assertEqual(result.outputs["logits"].sqnr_db.min, float("inf"))
        self.assertEqual(self.outputs(FLOAT, run).run.candidate, "lambda")
        self.assertIn("python", self.outputs(FLOAT, run).run.candidate_runs_in)
        self.assertFalse(self.outputs(FLOAT, lambda image: 1.1 * run(image)).passed)
        self.assertFalse(self.outputs(FLOAT, session(INT8)).passed)

    def test_neither_is_onnx(self):
        double = lambda image: 2 * image  # noqa: E731
        self.assertTrue(self.outputs(double, double).passed)
        self.assertFalse(self.outputs(double, lambda image: 3 * image).passed)
        self.assertTrue(self.outputs({"y": self.array}, {"y": self.array}).passed)
        with self.assertRaisesRegex(vernier.Error, "expected 4 samples, as arrays has, found 3"):
            vernier.compare({"y": self.array}, {"y": self.array[:3]})

    def test_limits_of_a_candidate_are_those_of_float_unless_it_is_said_otherwise(self):
        self.assertFalse(vernier.compare(FLOAT, session(INT8), {self.name: self.array}).passed)
        result = vernier.compare(FLOAT, session(INT8), {self.name: self.array}, precision="int8")
        self.assertEqual(result.run.precision, "int8")
        self.assertNotEqual(result.verdict.limits, vernier.compare(FLOAT, FLOAT, samples=1).verdict.limits)

    def test_refused(self):
        for model, message in [
            (3, "expected a path, a torch.nn.Module"),
            (lambda image: None, "NoneType|numbers"),
            (lambda: 1, "TypeError"),
            (lambda image: numpy.array(["a"]), "elements"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(vernier.Error, message):
                self.outputs(model)


class Progress(unittest.TestCase):
    def test_is_told_and_can_end_the_work(self):
        seen = []
        vernier.compare(FLOAT, INT8, INPUTS, samples=4, progress=lambda *told: seen.append(told))
        self.assertEqual(seen[-1], ("comparing", 4, 4))
        result = vernier.compare(FLOAT, INT8, INPUTS, samples=4, progress=lambda _, done, total: done < 2)
        self.assertTrue(result.interrupted)

    def test_what_it_raises_reaches_the_caller(self):
        def fails(label, done, total):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            vernier.compare(FLOAT, INT8, INPUTS, samples=4, progress=fails)

    def test_a_bar(self):
        vernier.compare(FLOAT, INT8, INPUTS, samples=2, progress=True)


INTERRUPTED = """
import os, signal, sys, threading, time
import vernier
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
def slow(image):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    for _ in range(6000):  # five minutes, unless they are interrupted
        time.sleep(0.05)
try:
    vernier.compare(slow, sys.argv[1], sys.argv[2])
except KeyboardInterrupt:
    print("interrupted", [each.name for each in threading.enumerate() if isinstance(each, threading._MainThread) or
                           not isinstance(each, (threading.Timer, threading._DummyThread))])
"""


BESIDE_ANOTHER = """
import os, signal, sys, threading, time
import vernier
signal.signal(signal.SIGINT, signal.default_int_handler)
inside, told, done, results = set(), set(), set(), []
def stubborn(image):
    while not done:
        try:
            while not done:
                try:
                    inside.add(1)
                    time.sleep(0.01)
                except KeyboardInterrupt:  # comes again and again
                    told.add(1)
        except KeyboardInterrupt:
            pass
    return image
def wait_for(flag):
    while not flag:
        time.sleep(0.01)
def another():
    wait_for(inside)
    os.kill(os.getpid(), signal.SIGINT)
    wait_for(told)
    try:
        results.append(vernier.compare(*sys.argv[1:4], samples=4))
    finally:
        done.add(1)
thread = threading.Thread(target=another)
thread.start()
try:
    vernier.compare(stubborn, sys.argv[1], sys.argv[3])
except KeyboardInterrupt:
    thread.join()
    print("interrupted", [(each.interrupted, each.run.samples) for each in results])
"""


class Interruption(unittest.TestCase):
    def test_ctrl_c_leaves_what_other_threads_run(self):
        result = python(BESIDE_ANOTHER, FLOAT, INT8, INPUTS)
        self.assertEqual(result.stdout, "interrupted [(False, 4)]\n", result.stderr)

    def test_ctrl_c_ends_a_long_run_and_leaves_no_thread(self):
        result = python(INTERRUPTED, FLOAT, INPUTS)
        self.assertEqual(result.stdout, "interrupted ['MainThread']\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
