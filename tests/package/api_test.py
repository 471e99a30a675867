"""The questions: each answer is the command's, byte for byte."""

import copy
import importlib.util
import json
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy
from support import FLOAT, INPUTS, INT8, LABELLED, PARQUET, PROGRAM, command

import vernier


class ByPaths(unittest.TestCase):
    def same(self, result, *arguments):
        text, code = command(*arguments)
        self.assertEqual(result.to_json(), text)
        self.assertEqual(result.exit_code, code)

    def test_compare(self):
        result = vernier.compare(FLOAT, INT8, INPUTS, samples=8, exact=True)
        self.same(result, "eval", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "8", "--exact")
        self.assertTrue(result.passed)
        self.assertTrue(result.verdict.reason.startswith("PASS"))
        logits = result.outputs["logits"]
        self.assertEqual(logits.sqnr_db.mean, json.loads(result.to_json())["outputs"][0]["metrics"]["sqnr_db_mean"])
        self.assertEqual(result.outputs[0].name, "logits")

    def test_compare_without_inputs(self):
        result = vernier.compare(FLOAT, INT8, samples=4)
        self.same(result, "eval", INT8, "--reference", FLOAT, "--samples", "4")

    def test_compare_fails_by_its_limits(self):
        result = vernier.compare(FLOAT, INT8, INPUTS, samples=2, fail_if=["sqnr_db<90", "mse>0.5"])
        self.same(
            result, "eval", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "2",
            "--fail-if", "sqnr_db<90", "--fail-if", "mse>0.5",
        )  # fmt: skip
        self.assertFalse(result.passed)
        self.assertEqual(result.verdict.outcome, "fail")
        self.assertEqual(result.verdict.failures[0].metric, "sqnr_db")

    def test_debug_quantization(self):
        result = vernier.debug_quantization(FLOAT, INT8, INPUTS, samples=4)
        self.same(result, "debug", INT8, "--reference", FLOAT, "--input-data", INPUTS, "--samples", "4")
        self.assertEqual(list(result), ["activations", "weights", "model_outputs", "summary"])
        self.assertEqual(
            list(result["activations"][0]), ["tensor_name", "local_sqnr_db", "cumulative_sqnr_db"]
        )
        self.assertEqual(list(result["weights"][0]), ["weight_name", "weight_sqnr_db"])
        for part in ("local", "cumulative", "weight"):
            self.assertEqual(list(result["summary"][part]), ["count", "mean", "std", "min", "max"])
        self.assertEqual(result["summary"]["local"]["count"], len(result["activations"]))
        self.assertIsInstance(result.conclusion, str)
        named = vernier.debug_quantization(
            FLOAT, INT8, inputs=INPUTS, samples=4, model_id="microsoft/resnet-50", task="image-classification"
        )
        self.assertEqual(dict(named), dict(result))

    def test_layers(self):
        result = vernier.layers(FLOAT, INT8)
        self.same(result, "layers", INT8, "--reference", FLOAT)
        origin = result.drift_origin
        self.assertEqual(origin.layer, json.loads(result.to_json())["drift_origin"])
        self.assertEqual(result.layers[origin.layer], origin)

    def test_check(self):
        self.same(vernier.check(FLOAT), "check", FLOAT)
        self.same(vernier.check(INT8, reference=FLOAT), "check", INT8, "--reference", FLOAT)

    def test_evaluate(self):
        result = vernier.evaluate(
            INT8, task="image-classification", dataset=LABELLED, reference=FLOAT, samples=100, k=1
        )
        self.same(
            result, "eval", INT8, "--reference", FLOAT, "--task", "image-classification",
            "--dataset", LABELLED, "--samples", "100", "--k", "1",
        )  # fmt: skip
        self.assertGreater(result.metrics["top1_accuracy"].candidate, 90)

    def test_providers(self):
        self.assertIn("cpu", vernier.providers())

    def test_errors_are_the_commands(self):
        with self.assertRaisesRegex(vernier.Error, r"^\[open\] none.onnx: no such file or folder$"):
            vernier.compare(FLOAT, "none.onnx")
        with self.assertRaisesRegex(vernier.Error, "--sample-indx.*--sample-index"):
            vernier.compare(FLOAT, INT8, sample_indx=1)
        with self.assertRaisesRegex(vernier.Error, "fail-if|sqnr"):
            vernier.compare(FLOAT, INT8, fail_if="nothing<3")

    def test_options_that_say_where_the_result_goes_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for option, value, remedy in [
                ("output", Path(folder, "x.html"), r"save\(\)"),
                ("format", "csv", r"to_dataframe\(\)"),
                ("shard", "1/2", "vernier.distributed"),
                ("help", True, "--help-all"),
            ]:
                with self.subTest(option), self.assertRaisesRegex(vernier.Error, rf"^\[eval\] {option}: .*{remedy}"):
                    vernier.compare(FLOAT, INT8, samples=1, **{option: value})
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_what_must_be_onnx_is_named(self):
        model = lambda image: image  # noqa: E731
        for ask, argument in [
            (lambda: vernier.debug_quantization(model, INT8), "float_model"),
            (lambda: vernier.debug_quantization(FLOAT, model), "quant_model"),
            (lambda: vernier.layers(FLOAT, model), "the candidate"),
        ]:
            with self.subTest(argument), self.assertRaisesRegex(vernier.Error, f"function: {argument} must be an .onnx"):
                ask()


class Arrays(unittest.TestCase):
    def setUp(self):
        with numpy.load(INPUTS) as file:
            self.arrays = {name: file[name][:4] for name in file.files}
        self.name = next(iter(self.arrays))
        self.array = self.arrays[self.name]
        self.expected = vernier.compare(FLOAT, INT8, INPUTS, samples=4).to_dict()["outputs"]

    def outputs(self, inputs, **options):
        return vernier.compare(FLOAT, INT8, inputs, **options).to_dict()["outputs"]

    def test_by_name_stacked(self):
        self.assertEqual(self.outputs(self.arrays), self.expected)

    def test_one_array(self):
        self.assertEqual(self.outputs(self.array), self.expected)

    def test_a_sequence_of_samples(self):
        samples = [{self.name: self.array[i : i + 1]} for i in range(4)]
        self.assertEqual(self.outputs(samples), self.expected)
        self.assertEqual(self.outputs([each[self.name] for each in samples]), self.expected)
        labelled = [(each[self.name], numpy.array([3])) for each in samples]  # as a loader gives
        with self.assertWarnsRegex(UserWarning, "of 2 arrays without names the model's inputs take the first 1"):
            self.assertEqual(self.outputs(labelled), self.expected)

    def test_another_order_of_bytes(self):
        swapped = self.array.astype(">f4")
        self.assertEqual(self.outputs(swapped), self.expected)
        self.assertEqual(vernier.metrics.sqnr_db(swapped, self.array), float("inf"))
        self.assertTrue(vernier.compare(lambda image: image, lambda image: image.astype(">f4"), self.array[:1]).passed)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no torch")
    def test_tensors_that_keep_their_elements_otherwise(self):
        import torch

        tensor = torch.from_numpy(self.array)
        negative = torch._neg_view(-tensor)
        self.assertTrue(negative.is_neg())
        for other in (negative, tensor.to_sparse(), tensor.clone().requires_grad_()):
            self.assertEqual(vernier.metrics.sqnr_db(tensor, other), float("inf"))
            self.assertEqual(self.outputs(other), self.expected)
        with self.assertRaisesRegex(vernier.Error, "on the device 'meta' has no elements"):
            vernier.metrics.sqnr_db(tensor, tensor.to("meta"))

    def test_a_strided_array_is_copied(self):
        transposed = numpy.ascontiguousarray(numpy.moveaxis(self.array, 0, -1))
        self.assertEqual(self.outputs(numpy.moveaxis(transposed, -1, 0)), self.expected)

    def test_another_dtype_is_cast_with_a_warning(self):
        with self.assertWarnsRegex(UserWarning, "is float64, the model takes float32"):
            self.assertEqual(self.outputs(self.array.astype(numpy.float64)), self.expected)

    def test_refused(self):
        class Dataset:  # as torch.utils.data's are
            def __len__(self):
                return 1

            def __getitem__(self, index):
                return numpy.zeros((1, 28, 28), numpy.float32)

        for inputs, message in [
            (Dataset(), r"DataLoader\(dataset\)"),
            ({}, "there are none"),
            ([], "there are none"),
            (3, "expected arrays by name"),
            ({"x": numpy.array(["a"])}, "no numbers"),
            ({"other": self.array}, "has no array for input"),
            ({self.name: numpy.float32(1)}, "is a scalar"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(vernier.Error, message):
                self.outputs(inputs)


def data_of(page):
    """What the page shows, but for the command that made it."""
    data = next(line for line in page.read_text().splitlines() if '{"results":' in line)
    result = json.JSONDecoder().raw_decode(data[data.index('{"results":') :])[0]
    result["results"][0].pop("command_line", None)
    return result


class Program(unittest.TestCase):
    def test_python_runs_it_too(self):
        result = subprocess.run(
            [sys.executable, "-m", "vernier", "eval", INT8, "--reference", FLOAT, "--samples", "2", "-f", "json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual((result.stdout, result.returncode), command("eval", INT8, "--reference", FLOAT, "--samples", "2"))

    def test_it_takes_no_longer_ways(self):
        wrong = subprocess.run([sys.executable, "-m", "vernier", "evil"], capture_output=True, text=True, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertRegex(wrong.stderr, "^vernier: .*eval")

    def test_parquet_is_read_by_the_duckdb_of_python(self):
        if not list(Path(vernier.__file__).parent.parent.glob("_duckdb*.so")):
            self.skipTest("no duckdb")
        arguments = ["--task", "image-classification", "--dataset", str(PARQUET), "--samples", "2"]
        for program in ([sys.executable, "-m", "vernier"], [PROGRAM]):
            result = subprocess.run(
                [*program, "eval", FLOAT, *arguments, "-f", "json"], capture_output=True, text=True, check=False
            )
            self.assertRegex(result.stderr, "an image of 24x40")  # which it read there


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = vernier.compare(FLOAT, INT8, INPUTS, samples=2)

    def test_are_frozen(self):
        for record in (self.result, self.result.outputs[0], self.result.verdict):
            with self.assertRaises(AttributeError):
                record.anything = 1
            with self.assertRaises(AttributeError):
                del record.name

    def test_say_what_they_have(self):
        with self.assertRaisesRegex(AttributeError, "has no 'output'; it has .*outputs"):
            self.result.output
        with self.assertRaisesRegex(KeyError, "there is logits"):
            self.result.outputs["logit"]
        self.assertIn("outputs", dir(self.result))

    def test_are_copied_and_pickled_whole(self):
        for each in (copy.deepcopy(self.result), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(self.result))))):
            self.assertEqual(each, self.result)
            self.assertEqual(each.verdict.reason, self.result.verdict.reason)
            self.assertEqual((str(each), each.exit_code), (str(self.result), self.result.exit_code))
            self.assertEqual(each.to_html(), self.result.to_html())
            self.assertEqual(each._repr_html_(), self.result._repr_html_())
        output = self.result.outputs["logits"]
        self.assertEqual(pickle.loads(pickle.dumps(output)), output)

    def test_are_equal_to_their_like(self):
        again = vernier.compare(FLOAT, INT8, INPUTS, samples=2)
        self.assertEqual(self.result, again)
        self.assertEqual(hash(self.result), hash(again))
        self.assertEqual(self.result.outputs, again.outputs)

    def test_hold_numbers_that_json_cannot(self):
        same = vernier.compare(FLOAT, FLOAT, INPUTS, samples=2)
        self.assertEqual(same.outputs["logits"].sqnr_db.min, float("inf"))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas")
    def test_become_a_dataframe(self):
        frame = self.result.to_dataframe()
        row = frame[frame.metric == "sqnr_db"].iloc[0]
        self.assertEqual(row["mean"], self.result.outputs["logits"].sqnr_db.mean)

    def test_of_every_command_have_rows_and_show_themselves(self):
        task = {"task": "image-classification", "dataset": LABELLED, "samples": 20, "k": 1}
        for result, columns in [
            (self.result, {"output", "metric", "mean", "std", "min", "max"}),
            (vernier.layers(FLOAT, INT8), {"layer", "tensor", "max_abs_diff", "cause"}),
            (vernier.debug_quantization(FLOAT, INT8, INPUTS, samples=2), {"tensor_name", "local_sqnr_db"}),
            (vernier.check(INT8, reference=FLOAT), {"id", "severity", "subject", "evidence", "remedy"}),
            (vernier.evaluate(FLOAT, **task), {"name", "candidate"}),
        ]:
            with self.subTest(type(result).__name__):
                self.assertTrue(result.rows())
                for row in result.rows():
                    self.assertLessEqual(columns, set(row))
                    self.assertFalse({"inf", "-inf", "nan"} & {each for each in row.values() if isinstance(each, str)})
                self.assertIn("<table>", result._repr_html_())
                self.assertIn("<!doctype html>", result.to_html().lower())
                self.assertTrue(result.to_markdown() and str(result))
                self.assertEqual(json.loads(result.to_json()), result.to_dict())

    def test_show_themselves(self):
        self.assertIn("sqnr_db", str(self.result))
        self.assertRegex(repr(self.result), "^<CompareResult: (PASS|FAIL|INCONCLUSIVE)")
        self.assertIn("<table>", self.result._repr_html_())

    def test_are_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            for ending, expected in [("json", '"outputs"'), ("md", "| sqnr_db |"), ("html", "<!doctype html>"), ("txt", "sqnr_db")]:
                path = Path(folder, f"report.{ending}")
                self.result.save(path)
                self.assertTrue(expected.lower() in path.read_text().lower(), ending)
            self.assertIn("graph", data_of(Path(folder, "report.html"))["results"][0])
            result = vernier.layers(FLOAT, INT8, samples=1, detail="worst:2")
            result.save(Path(folder, "detail.html"))
            command("layers", INT8, "--reference", FLOAT, "--samples", "1", "--detail", "worst:2", "-o", Path(folder, "command.html"), format="html")
            self.assertTrue(data_of(Path(folder, "detail.html")) == data_of(Path(folder, "command.html")))
            self.assertIn("detail", data_of(Path(folder, "detail.html"))["results"][0])
            with self.assertRaisesRegex(vernier.Error, "expected .json"):
                self.result.save(Path(folder, "report.pdf"))


if __name__ == "__main__":
    unittest.main()
