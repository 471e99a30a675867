"""The host for PyTorch, over its protocol."""

import importlib.util
import os
import signal
import sys
import unittest
from unittest import mock

import torch

from hosting import MODERN, HostError, HostTest

NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Linear(2, 2, bias=False)
            self.relu = nn.ReLU(inplace=True)
            with torch.no_grad():
                self.scale.weight.copy_(torch.tensor([[1., 0.], [0., -1.]]))

        def forward(self, x):
            return self.relu(self.scale(self.relu(x)) + 1)

    def model():
        return Net()
"""
X = ("x", "float32", [1, 2], [1, 3])


class DescriptionTest(HostTest):
    def test_names_each_call_of_a_leaf_with_type_and_place(self):
        layers = self.model(NET).describe([X])["layers"]
        self.assertEqual([each["name"] for each in layers], ["relu", "scale", "relu_1"])
        self.assertEqual([each["call"] for each in layers], [0, 0, 1])
        self.assertEqual(layers[2]["module"], "relu")
        self.assertEqual(layers[1]["type"], "Linear")
        self.assertRegex(layers[1]["source"], r"^models\.py:\d+$")
        self.assertEqual(layers[1]["constants"]["out_features"], 2)

    def test_says_what_it_runs_in(self):
        versions = self.model(NET).describe([X])["versions"]
        self.assertEqual(versions["torch"], torch.__version__)
        self.assertIn("python", versions)

    def test_takes_inputs_by_the_names_of_forward(self):
        host = self.model("""
            class Net(nn.Module):
                def forward(self, first, second=None, third=None):
                    return first - 2 * third
            def model():
                return Net()
        """)
        inputs = [("third", "float32", [1], [5]), ("first", "float32", [1], [1])]
        description = host.describe(inputs)
        self.assertEqual([each["name"] for each in description["inputs"]], ["third", "first"])
        self.assertEqual(host.run(inputs)[1], [("output", [-9])])

    def test_takes_inputs_in_turn_where_no_name_is_known(self):
        host = self.model(NET)
        description = host.describe([("input.1", "float32", [1, 2], [1, 3])])
        self.assertEqual(description["inputs"], [{"name": "x", "dtype": "float32"}])

    def test_what_fails_on_inputs_in_turn_names_both_sides(self):
        host = self.model(NET)
        with self.assertRaisesRegex(
            HostError, "^RuntimeError: mat1 and mat2 .*; it was given the candidate's pixels in turn as x$"
        ):
            host.describe([("pixels", "float32", [1, 3], [1, 3, 2])])

    def test_names_both_sides_when_only_some_inputs_fit(self):
        host = self.model(NET)
        with self.assertRaisesRegex(HostError, "forward takes x, the candidate x, y"):
            host.describe([X, ("y", "float32", [1], [1])])

    def test_flattens_what_the_model_returns(self):
        host = self.model("""
            from collections import namedtuple
            Pair = namedtuple("Pair", "left right")
            class Net(nn.Module):
                def forward(self, x):
                    return {"logits": x, "states": (x + 1, Pair(x + 2, None)), "text": "no tensor"}
            def model():
                return Net()
        """)
        description = host.describe([X])
        names = [each["name"] for each in description["outputs"]]
        self.assertEqual(names, ["logits", "states_0", "states_1_left"])
        self.assertFalse(description["outputs_are_positional"])

    def test_a_tuple_is_told_by_its_positions(self):
        host = self.model("""
            class Net(nn.Module):
                def forward(self, x):
                    return x, x + 1
            def model():
                return Net(), torch.zeros(1)
        """)
        self.assertTrue(host.describe([X])["outputs_are_positional"])

    def test_weights_come_from_a_file_without_running_its_pickle(self):
        path = self.folder / "weights.pth"
        torch.save({"scale.weight": torch.full((2, 2), 4.0)}, path)
        host = self.start(f"{self.write(NET)}:Net", "--weights", str(path))
        host.describe([X])
        self.assertEqual(host.parameters(), {"scale.weight": [4, 4, 4, 4]})

    def test_tied_parameters_have_every_name(self):
        host = self.model(
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.table = nn.Linear(2, 2, bias=False)
                    self.head = nn.Linear(2, 2, bias=False)
                    self.head.weight = self.table.weight

                def forward(self, input):
                    return self.head(self.table(input))

            def model(): return Net()
            """
        )
        host.describe([("input", "float32", [1, 2], [1, 3])])
        parameters = host.parameters()
        self.assertEqual(parameters["head.weight"], parameters["table.weight"])

    @unittest.skipUnless(MODERN, "weight_norm is a parametrization from PyTorch 2 on")
    def test_a_parametrized_module_is_a_leaf_with_the_weight_that_it_computes(self):
        host = self.model(
            """
            def model():
                torch.manual_seed(0)
                return nn.Sequential(torch.nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)))
            """
        )
        layers = host.describe([("input", "float32", [1, 2], [1, 3])])["layers"]
        self.assertEqual([(each["name"], each["type"]) for each in layers], [("0", "Linear")])
        self.assertEqual(set(host.parameters()), {"0.weight", "0.bias"})

    def test_parameters_are_described_and_sent_by_name(self):
        host = self.model("""
            def model():
                torch.manual_seed(0)
                return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        """)
        described = host.describe([("input", "float32", [1, 2], [1, 3])])["parameters"]
        self.assertEqual(described[0], {"name": "0.weight", "dtype": "float32", "shape": [3, 2]})
        self.assertEqual({each["name"] for each in described}, set(host.parameters()))
        self.assertEqual(list(host.parameters(["1.running_var", "0.bias"])), ["0.bias", "1.running_var"])
        self.assertEqual(host.parameters([]), {})

    def test_without_a_sample_it_is_described_by_its_own(self):
        host = self.model("""
            def model():
                return nn.Linear(2, 3), torch.ones(4, 2)
        """)
        description = host.describe([])
        self.assertEqual(description["inputs"], [{"name": "input", "dtype": "float32", "shape": [4, 2]}])
        self.assertEqual(description["outputs"][0]["shape"], [4, 3])

    def test_of_a_file_it_takes_what_forward_takes_in_the_rank_that_it_takes(self):
        code = """
            def model():
                return nn.Conv2d(1, 2, 3)
        """
        other = ("conv1", "float32", [1, 5], [0] * 5)
        for shape in ([1, 1, 1, 4, 4], [1, 1, 4, 4]):
            recorded = ("input", "float32", shape, [1] * 16)
            description = self.model(code).describe([other, recorded], outputs=())
            self.assertEqual(
                description["inputs"], [{"name": "input", "dtype": "float32", "shape": [1, 1, 4, 4]}]
            )

    def test_of_a_file_the_rank_of_its_own_example_decides(self):
        host = self.model("""
            def model():
                return nn.Linear(2, 3), torch.ones(4, 2)
        """)
        recorded = ("input", "float32", [1, 1, 2], [1, 3])
        self.assertEqual(host.describe([recorded], outputs=())["inputs"][0]["shape"], [1, 2])

    def test_without_a_sample_of_either_side_the_error_says_how_to_give_one(self):
        with self.assertRaisesRegex(HostError, "must return .model, example inputs."):
            self.model(NET).describe([])


class RunTest(HostTest):
    def test_shows_each_tensor_before_it_is_overwritten(self):
        host = self.model(NET)
        host.describe([X])
        tensors, outputs = host.run([X])
        self.assertEqual(tensors, [("relu", [1, 3]), ("scale", [1, -3]), ("relu_1", [2, 0])])
        self.assertEqual(outputs, [("output", [2, 0])])

    def test_shows_a_norm_whose_activation_function_is_its_child(self):
        host = self.model("""
            class NormAct(nn.BatchNorm1d):
                def __init__(self):
                    super().__init__(2, eps=0)
                    self.drop = nn.Identity()
                    self.act = nn.ReLU(inplace=True)
                    self.running_mean.copy_(torch.tensor([3., 1.]))

                def forward(self, x):
                    return self.act(self.drop(super().forward(x)))

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bn = NormAct()

                def forward(self, x):
                    return self.bn(self.bn(x))

            def model():
                return Net().eval()
        """)
        layers = host.describe([X])["layers"]
        self.assertEqual([each["name"] for each in layers][:3], ["bn", "bn.drop", "bn.act"])
        self.assertEqual((layers[0]["type"], layers[0]["constants"]["eps"]), ("NormAct", 0))
        tensors, outputs = host.run([X])
        shown = dict(tensors)
        self.assertEqual((shown["bn"], shown["bn.act"], shown["bn_1"]), ([-2, 2], [0, 2], [-3, 1]))
        self.assertEqual(outputs, [("output", [0, 1])])

    def test_shows_nothing_unless_it_is_asked(self):
        host = self.model(NET)
        host.describe([X])
        self.assertEqual(host.run([X], observe=False)[0], [])

    def test_sends_bytes_on_the_socket_where_there_is_no_ring(self):
        host = self.model(NET, ring=0)
        host.describe([X])
        self.assertEqual(host.run([X])[0][1], ("scale", [1, -3]))

    def test_tensors_larger_than_the_ring_come_in_parts(self):
        host = self.model(NET, ring=1 << 12)
        rows = 700
        large = ("x", "float32", [rows, 2], [1, 3] * rows)
        host.describe([large])
        for _ in range(3):
            tensors, outputs = host.run([large])
            self.assertEqual(tensors[1], ("scale", [1, -3] * rows))
            self.assertEqual(outputs, [("output", [2, 0] * rows)])
        self.assertEqual(max(host.sizes), 1 << 11)

    def test_every_run_starts_from_the_same_state(self):
        host = self.model("""
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.register_buffer("count", torch.zeros(2))
                    self.register_buffer("made", torch.zeros(2))
                def forward(self, x):
                    self.count += 1
                    self.made = self.made + 1
                    return x + self.count + self.made
            def model():
                return Net()
        """)
        host.describe([X])
        self.assertEqual([host.run([X])[1] for _ in range(2)], [[("output", [3, 5])]] * 2)

    def test_what_the_model_prints_disturbs_nothing(self):
        host = self.model(NET.replace("return self.relu(", "print(x); return self.relu("))
        host.describe([X])
        self.assertEqual(host.run([X])[1], [("output", [2, 0])])

    def test_an_error_is_one_line_and_the_next_run_works(self):
        host = self.model(NET)
        host.describe([X])
        with self.assertRaisesRegex(HostError, "^RuntimeError: .*shape"):
            host.run([("x", "float32", [1, 3], [1, 2, 3])])
        self.assertEqual(host.run([X])[1], [("output", [2, 0])])


class PrecisionTest(HostTest):
    def test_runs_in_float64_what_names_float32_in_its_code(self):
        host = self.model("""
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.linear = nn.Linear(1, 1, bias=False)
                    nn.init.constant_(self.linear.weight, 1)
                def forward(self, x):
                    return self.linear(x.float().to(torch.float32) / 3)
            def model():
                return Net()
        """)
        x = ("x", "float32", [1, 1], [1])
        self.assertEqual(host.describe([x], precision="float64")["inputs"][0]["dtype"], "float64")
        self.assertEqual(host.run([("x", "float64", [1, 1], [1])])[1], [("output", [1 / 3])])

    def test_a_layer_that_stays_narrow_is_named(self):
        host = self.model("""
            class Narrow(nn.Module):
                def forward(self, x):
                    return torch.from_numpy(x.numpy().astype("float32"))
            def model():
                return nn.Sequential(Narrow(), nn.Identity())
        """)
        with self.assertRaisesRegex(HostError, "run in float64, these are not: 0, 1, output"):
            host.describe([X], precision="float64")


@unittest.skipUnless(MODERN, "operators are shown from PyTorch 2.1 on")
class OperatorsTest(HostTest):
    def test_every_operator_that_computes_is_named_by_its_module(self):
        host = self.model(NET)
        layers = host.describe([X], watch="operators")["layers"]
        names = [each["name"] for each in layers]
        self.assertEqual(names, ["relu/relu_", "scale/mm", "add", "relu/relu__1"])
        self.assertEqual(layers[1]["module"], "scale")
        self.assertEqual(layers[1]["type"], "aten.mm")
        self.assertRegex(layers[2]["source"], r"^models\.py:\d+$")
        tensors, outputs = host.run([X])
        self.assertEqual([values for _, values in tensors], [[1, 3], [1, -3], [2, -2], [2, 0]])
        self.assertEqual(outputs, [("output", [2, 0])])

    def test_what_may_be_folded_tells_its_numbers(self):
        host = self.model("def model(): return nn.Sequential(nn.ConvTranspose1d(1, 2, 1), nn.BatchNorm1d(2, eps=0.25))")
        layers = host.describe([("x", "float32", [1, 1, 2], [1, 3])], watch="operators")["layers"]
        self.assertEqual(layers[0]["constants"]["transposed"], 1)
        self.assertEqual(layers[1]["constants"]["eps"], 0.25)

    def test_statistics_of_a_normalisation_are_no_layers(self):
        host = self.model("def model(): return nn.Sequential(nn.LayerNorm(2))")
        layers = host.describe([X], watch="operators")["layers"]
        self.assertEqual([each["name"] for each in layers], ["0/native_layer_norm"])


@unittest.skipUnless(
    MODERN and not torch.__version__.startswith("2.6."), "PyTorch 2.6 does not say what the modules of a program are"
)
class ProgramTest(HostTest):
    def test_a_program_keeps_its_modules(self):
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
        path = self.folder / "net.pt2"
        torch.export.save(torch.export.export(net, (torch.ones(1, 2),), strict=False), path)
        host = self.start(path)
        x = ("input", "float32", [1, 2], [1, 3])
        layers = host.describe([x])["layers"]
        self.assertEqual([(each["name"], each["type"]) for each in layers], [("0", "Linear"), ("1", "ReLU")])
        expected = net(torch.tensor([[1.0, 3.0]])).flatten().tolist()
        self.assertEqual(host.run([x])[1], [("output", expected)])


    def test_a_program_with_a_parametrized_module_shows_its_other_parameters(self):
        path = self.folder / "parametrized.pt2"
        net = torch.nn.Sequential(
            torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2)), torch.nn.Linear(2, 2)
        ).eval()
        torch.export.save(torch.export.export(net, (torch.ones(1, 2),), strict=False), path)
        host = self.start(path)
        host.describe([("input", "float32", [1, 2], [1, 3])])
        self.assertIn("1.weight", host.parameters())

    def test_a_gelu_tells_its_form(self):
        net = torch.nn.Sequential(torch.nn.GELU(), torch.nn.GELU("tanh")).eval()
        path = self.folder / "gelu.pt2"
        torch.export.save(torch.export.export(net, (torch.ones(1, 2),), strict=False), path)
        model = """
            from torch import nn

            def model():
                return nn.Sequential(nn.GELU(), nn.GELU("tanh"))
        """
        for host in (self.start(path), self.model(model)):
            layers = host.describe([X])["layers"]
            self.assertEqual([each["constants"]["approximate"] for each in layers], [0, 1])

    def test_numbers_of_a_module_are_those_of_its_operators(self):
        net = torch.nn.Sequential(torch.nn.BatchNorm1d(2, eps=0.25)).eval()
        path = self.folder / "norm.pt2"
        torch.export.save(torch.export.export(net, (torch.ones(1, 2),), strict=False), path)
        layers = self.start(path).describe([("input", "float32", [1, 2], [1, 3])])["layers"]
        self.assertEqual(layers[0]["constants"]["eps"], 0.25)


    @unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
    def test_a_program_of_hugging_face_returns_what_its_model_does(self):
        from transformers import BertConfig, BertModel

        config = BertConfig(
            vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
        )
        torch.manual_seed(0)
        net = BertModel(config).eval()
        ids = torch.tensor([[1, 2, 3, 4]])
        path = self.folder / "bert.pt2"
        torch.export.save(torch.export.export(net, (), {"input_ids": ids}), path)
        host = self.start(path)  # a process that has not imported transformers
        x = ("input_ids", "int64", [1, 4], [1, 2, 3, 4])
        layers = host.describe([x])["layers"]
        self.assertIn("LayerNorm", {each["type"] for each in layers})
        outputs = dict(host.run([x])[1])
        expected = net(input_ids=ids).last_hidden_state.flatten().tolist()
        self.assertIn(expected, outputs.values())


class SafetyTest(HostTest):
    def test_modules_of_the_current_folder_are_not_imported(self):
        for name in ("json", "torch", "vernier_host"):
            (self.folder / f"{name}.py").write_text("raise SystemExit(7)")
        path = self.folder / "models"
        path.mkdir()
        model = self.write(NET, "models/net.py")
        host = self.start(f"{model}:model", cwd=self.folder)
        self.assertEqual(len(host.describe([X])["layers"]), 3)

    def test_a_python_without_pytorch_is_named(self):
        (self.folder / "torch").mkdir()
        (self.folder / "torch/__init__.py").write_text("raise ImportError('not here')")
        with mock.patch.dict(os.environ, PYTHONPATH=str(self.folder)):
            host = self.model(NET)
        with self.assertRaisesRegex(HostError, rf"^{sys.executable} has no PyTorch \(not here\); choose one that has"):
            host.describe([X])

    def test_a_model_that_exits_is_an_error(self):
        host = self.model("def model(): raise SystemExit(4)")
        with self.assertRaisesRegex(HostError, "it ended Python with exit code 4"):
            host.describe([X])

    def test_an_error_without_a_message_is_named_by_its_class(self):
        host = self.model("def model(): raise ValueError('\\n\\n')")
        with self.assertRaisesRegex(HostError, "^ValueError$"):
            host.describe([X])

    def test_the_first_line_that_says_something_is_told(self):
        host = self.model("def model(): raise ValueError('\\n  what is wrong\\nmore')")
        with self.assertRaisesRegex(HostError, "^ValueError: what is wrong$"):
            host.describe([X])

    def test_a_line_that_only_announces_is_told_with_the_next(self):
        host = self.model("def model(): raise ValueError('Error(s) in loading:\\n\\tMissing key: w\\nmore')")
        with self.assertRaisesRegex(HostError, "^ValueError: Error.s. in loading: Missing key: w$"):
            host.describe([X])

    def test_ends_with_vernier_in_the_middle_of_a_run(self):
        host = self.model("def model():\n  import time; time.sleep(1000)")
        host.request({"type": "hello", "protocol": 1})
        host.receive()
        host.request({"type": "describe", "watch": "layers", "precision": "float32", "outputs": []}, [X])
        host.file.close()
        host.socket.close()
        self.assertEqual(host.process.wait(20), 1)

    def test_a_killed_host_is_noticed(self):
        host = self.model(NET)
        host.describe([X])
        os.kill(host.process.pid, signal.SIGKILL)
        with self.assertRaisesRegex(HostError, "has ended"):
            host.run([X])


if __name__ == "__main__":
    unittest.main()
