import os
import unittest

import torch
from exporting import ExportTest

LINEAR = """
    def model():
        return nn.Linear(3, 2).eval(), torch.ones(1, 3)
"""


class WhatIsWritten(ExportTest):
    def test_an_export_is_onnx_torchscript_and_a_sidecar(self):
        sidecar = self.export(self.source(LINEAR))
        self.assertEqual(
            sorted(each.name for each in self.output.iterdir()),
            ["model.json", "model.onnx", "model.pt"],
        )
        self.assertEqual(
            sidecar["inputs"],
            [{"name": "input", "dtype": "float32", "shape": ["batch", 3]}],
        )
        self.assertEqual(
            sidecar["outputs"],
            [{"name": "output", "dtype": "float32", "shape": ["batch", 2]}],
        )
        self.assertIn("torch", sidecar["versions"])
        self.assertGreaterEqual(sidecar["opset"], 16)

    def test_the_torchscript_file_is_the_model(self):
        self.export(self.source("""
            def model():
                torch.manual_seed(1)
                return nn.Sequential(nn.Linear(3, 2), nn.Tanh()).eval(), torch.ones(1, 3)
        """))
        torch.manual_seed(1)
        expected = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()).eval()
        example = torch.rand(5, 3)
        loaded = torch.jit.load(str(self.output / "model.pt"))
        self.assertTrue(torch.equal(loaded(example), expected(example)))

    def test_outputs_are_named_by_key_and_inputs_by_keyword(self):
        sidecar = self.export(self.source("""
            class Model(nn.Module):
                def forward(self, ids=None, mask=None):
                    return {"logits": ids * mask, "states": [mask + 1, mask + 2]}

            def model():
                return Model().eval(), {"mask": torch.ones(1, 4), "ids": torch.ones(1, 4)}
        """))
        self.assertEqual([each["name"] for each in sidecar["inputs"]], ["mask", "ids"])
        self.assertEqual(
            [each["name"] for each in sidecar["outputs"]], ["logits", "states_0", "states_1"]
        )

    def test_an_earlier_export_is_replaced_whole(self):
        self.export(self.source(LINEAR), "--instrument")
        (self.output / "notes.txt").write_text("mine")
        self.export(self.source(LINEAR))
        self.assertEqual(
            sorted(each.name for each in self.output.iterdir()),
            ["model.json", "model.onnx", "model.pt", "notes.txt"],
        )

    def test_the_opset_can_be_chosen(self):
        self.assertEqual(self.export(self.source(LINEAR), "--opset", 13)["opset"], 13)

    def test_a_package_in_this_folder_is_found(self):
        self.source(LINEAR, "neighbour_models.py")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.assertEqual(self.export("neighbour_models:model")["source"], "neighbour_models:model")


class EvalMode(ExportTest):
    def test_a_model_in_training_mode_is_exported_in_eval_mode_with_a_warning(self):
        sidecar = self.export(self.source("""
            def model():
                return nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)), torch.ones(1, 3)
        """))
        self.assertIn("training mode", self.err)
        self.assertIn("training mode", sidecar["warnings"][0])
        loaded = torch.jit.load(str(self.output / "model.pt"))
        example = torch.ones(1, 3)
        self.assertTrue(torch.equal(loaded(example), loaded(example)))

    def test_a_half_precision_model_is_exported_in_float32(self):
        sidecar = self.export(self.source("""
            def model():
                return nn.Linear(3, 2).eval().half(), torch.ones(1, 3).half()
        """))
        self.assertEqual(sidecar["inputs"][0]["dtype"], "float32")


class DynamicAxes(ExportTest):
    SEQUENCE = """
        class Model(nn.Module):
            def forward(self, ids, mask):
                return (ids * mask).cumsum(1), ids.sum(1)

        def model():
            return Model().eval(), (torch.ones(1, 4), torch.ones(1, 4))
    """

    def test_the_batch_is_dynamic_and_the_outputs_follow(self):
        sidecar = self.export(self.source(self.SEQUENCE))
        self.assertEqual([each["shape"] for each in sidecar["outputs"]], [["batch", 4], ["batch"]])

    def test_axes_of_one_symbol_grow_together(self):
        sidecar = self.export(
            self.source(self.SEQUENCE), "--dynamic", "ids:1=tokens,mask:1=tokens"
        )
        self.assertEqual(
            [each["shape"] for each in sidecar["outputs"]], [["batch", "tokens"], ["batch"]]
        )

    def test_a_batch_that_tracing_froze_is_reported_and_static(self):
        sidecar = self.export(self.source("""
            class Model(nn.Module):
                def forward(self, x):
                    return x.reshape(1, int(x.numel()))

            def model():
                return Model().eval(), torch.ones(1, 3)
        """))
        self.assertIn("the batch is fixed: tracing froze its shape", self.err)
        self.assertEqual(sidecar["inputs"][0]["shape"], [1, 3])

    def test_an_axis_that_was_asked_for_and_froze_is_an_error(self):
        source = self.source("""
            class Model(nn.Module):
                def forward(self, x):
                    return x * torch.ones(int(x.shape[1]))

            def model():
                return Model().eval(), torch.ones(1, 3)
        """)
        self.assert_fails("--dynamic x:1: tracing froze its shape", source, "--dynamic", "x:1")

    def test_a_wrong_axis_is_an_error(self):
        source = self.source(self.SEQUENCE)
        self.assert_fails("its inputs are ids, mask", source, "--dynamic", "x:1")
        self.assert_fails("ids has 2 axes", source, "--dynamic", "ids:2")
        self.assert_fails("expected NAME:AXIS", source, "--dynamic", "ids")


class Frozen(ExportTest):
    BRANCH = """
        class Model(nn.Module):
            def forward(self, x):
                return x + 1 if x.min() > 0 else x - 1

        def model():
            return Model().eval(), torch.ones(1, 30)
    """

    def test_a_branch_on_values_is_an_error_that_names_the_line(self):
        self.assert_fails("models.py:7: Converting a tensor", self.source(self.BRANCH))

    def test_a_frozen_branch_can_be_allowed(self):
        sidecar = self.export(self.source(self.BRANCH), "--allow-frozen")
        self.assertIn("tracing froze a branch", sidecar["warnings"][0])


class Layers(ExportTest):
    def test_leaves_are_named_by_call(self):
        sidecar = self.export(self.source("""
            class Model(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.act = nn.ReLU(inplace=True)
                    self.act_1 = nn.Tanh()
                    self.alias = self.act
                    self.blocks = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
                    self.lstm = nn.LSTM(3, 2)

                def forward(self, x):
                    x = self.alias(self.act(self.act_1(self.blocks(x))))
                    y, (h, c) = self.lstm(x)
                    return y + h + c

            def model():
                return Model().eval(), torch.ones(1, 1, 3)
        """), "--instrument")
        self.assertEqual(
            sidecar["leaves"],
            ["blocks.0", "blocks.1", "act_1", "act", "act_2", "lstm.0", "lstm.1", "lstm.2"],
        )
        self.assertTrue((self.output / "model.layers.onnx").exists())

    def test_a_module_of_two_parents_has_the_name_that_tracing_gives_it(self):
        sidecar = self.export(self.source("""
            class Half(nn.Module):
                def __init__(self, shared):
                    super().__init__()
                    self.shared = shared

                def forward(self, x):
                    return self.shared(x)

            class Model(nn.Module):
                def __init__(self):
                    super().__init__()
                    shared = nn.Linear(2, 2)
                    self.a, self.b = Half(shared), Half(shared)

                def forward(self, x):
                    return self.b(self.a(x))

            def model():
                return Model().eval(), torch.ones(1, 2)
        """), "--instrument")
        self.assertEqual(sidecar["leaves"], ["b.shared", "b.shared_1"])

    def test_a_leaf_with_the_name_of_an_input_is_an_error(self):
        source = self.source("""
            class Model(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.x = nn.Linear(2, 2)

                def forward(self, x):
                    return self.x(x)

            def model():
                return Model().eval(), torch.ones(1, 2)
        """)
        self.assert_fails("x names a layer and an input", source, "--instrument")


class Errors(ExportTest):
    def test_an_operator_without_onnx_form_is_named(self):
        source = self.source("""
            class Model(nn.Module):
                def forward(self, x):
                    return torch.special.bessel_j0(x)

            def model():
                return Model().eval(), torch.ones(1, 3)
        """)
        self.assert_fails("operator aten::special_bessel_j0 has no ONNX form", source)

    def test_a_function_that_is_not_there_or_returns_something_else(self):
        self.assert_fails("no such file", str(self.folder / "none.py") + ":model")
        self.assert_fails("No module named 'no_such_package'", "no_such_package.models:model")
        source = self.source("def other(): pass")
        self.assert_fails("has no function 'model'", source)
        source = self.source("def modle(): pass")
        self.assert_fails("has no function 'model'; did you mean modle?", source)
        self.assert_fails("must return (model, example inputs)", self.source("def model(): return nn.Linear(1, 1)"))

    def test_a_function_that_raises(self):
        source = self.source("def model(): raise KeyError('missing thing')")
        self.assert_fails("KeyError: 'missing thing'", source)

    def test_inputs_must_be_tensors_and_models_modules(self):
        not_tensor = "def model(): return nn.Linear(1, 1), 3"
        self.assert_fails("'input' is no tensor but int", self.source(not_tensor))
        not_module = "def model(): return 3, torch.ones(1)"
        self.assert_fails("expected a torch.nn.Module, found int", self.source(not_module))

    def test_a_model_that_returns_no_tensor(self):
        source = self.source("""
            class Model(nn.Module):
                def forward(self, x):
                    return 3

            def model():
                return Model(), torch.ones(1)
        """)
        self.assert_fails("it returns no tensor", source)

    def test_a_model_that_does_not_run(self):
        source = self.source("def model(): return nn.Linear(3, 2).eval(), torch.ones(1, 4)")
        self.assert_fails("does not run on the example inputs", source)

    def test_options_that_make_no_sense(self):
        self.assert_fails("expected sizes as in", self.source(LINEAR), "--shape", "1xx2")


if __name__ == "__main__":
    unittest.main()
