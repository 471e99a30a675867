"""Exports with PyTorch 2: the dynamo exporter, whose reference is the source itself."""

import importlib.util
import unittest
import unittest.mock

import torch

from exporting import ExportTest
from vernier_export import dynamo

NET = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
        def forward(self, x, scale):
            return {"logits": self.linear(x) * scale, "moved": x + 1}

    def model():
        torch.manual_seed(1)
        return Net(), {"x": torch.rand(1, 4), "scale": torch.rand(1, 1)}
"""


def has_transformers():
    return importlib.util.find_spec("transformers") is not None


def run_onnx(path, inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    return session.run(None, {name: each.numpy() for name, each in inputs.items()})


@unittest.skipUnless(dynamo.is_there(), f"PyTorch {torch.__version__} has no dynamo exporter")
class DynamoTest(ExportTest):
    def test_the_model_is_written_with_a_dynamic_batch_and_no_trace(self):
        source = self.source(NET)
        sidecar = self.export(source)
        self.assertFalse((self.output / "model.pt").exists())
        self.assertEqual(sidecar["reference"], {"source": source, "weights": "", "seed": 42})
        self.assertEqual(sidecar["inputs"][0]["shape"], ["batch", 4])
        self.assertEqual([each["name"] for each in sidecar["outputs"]], ["logits", "moved"])
        self.assertEqual(sidecar["outputs"][0]["shape"], ["batch", 3])
        linear = [each for each in sidecar["tensors"] if each["module"] == "linear"][0]
        self.assertRegex(linear["source"], r"^models?\.py:\d+$")
        inputs = {"x": torch.rand(5, 4), "scale": torch.rand(5, 1)}
        logits, moved = run_onnx(self.output / "model.onnx", inputs)
        self.assertEqual(logits.shape, (5, 3))
        torch.testing.assert_close(torch.from_numpy(moved), inputs["x"] + 1)

    def test_a_batch_that_the_model_does_not_take_is_fixed(self):
        sidecar = self.export(self.source("""
            class Net(nn.Module):
                def forward(self, x):
                    return x.reshape(1, 4) * 2
            def model():
                return Net(), torch.rand(1, 4)
        """))
        self.assertIn("the batch is fixed", sidecar["warnings"][0])
        self.assertEqual(sidecar["inputs"][0]["shape"], [1, 4])

    def test_what_depends_on_values_is_an_error_with_a_reason(self):
        self.assert_fails("cannot be written as ONNX: ", self.source("""
            class Net(nn.Module):
                def forward(self, x):
                    return x * 2 if x.sum() > 0 else x
            def model():
                return Net(), torch.rand(1, 4)
        """))

    def test_the_other_exporter_writes_a_trace(self):
        sidecar = self.export(self.source(NET), "--exporter", "torchscript")
        self.assertTrue((self.output / "model.pt").exists())
        self.assertNotIn("reference", sidecar)

    def test_layers_as_outputs_need_the_other_exporter(self):
        self.assert_fails("--instrument needs the other", self.source(NET), "--exporter", "dynamo", "--instrument")


@unittest.skipUnless(dynamo.is_there() and has_transformers(), "needs transformers")
class TransformersTest(ExportTest):
    def saved(self, name, config):
        import transformers

        torch.manual_seed(3)
        folder = self.folder / "hub"
        getattr(transformers, name)(config).save_pretrained(folder)
        return folder

    def test_a_text_model_with_a_mask(self):
        import transformers

        config = transformers.BertConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=50
        )
        folder = self.saved("BertForSequenceClassification", config)
        sidecar = self.export(folder)
        self.assertEqual(sidecar["reference"]["source"], f"hf:{folder}")
        self.assertEqual([each["name"] for each in sidecar["inputs"]], ["input_ids", "attention_mask"])
        inputs = {name: torch.ones(3, 16, dtype=torch.int64) for name in ("input_ids", "attention_mask")}
        self.assertEqual(run_onnx(self.output / "model.onnx", inputs)[0].shape, (3, 2))

    def test_whisper_with_its_decoder(self):
        import transformers

        config = transformers.WhisperConfig(
            d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8,
            max_source_positions=10, max_target_positions=12, vocab_size=60, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        )
        folder = self.saved("WhisperForConditionalGeneration", config)
        sidecar = self.export(folder)
        names = [each["name"] for each in sidecar["inputs"]]
        self.assertEqual(names, ["input_features", "decoder_input_ids"])
        self.assertEqual(sidecar["inputs"][0]["shape"], ["batch", 8, 20])
        inputs = {"input_features": torch.rand(1, 8, 20), "decoder_input_ids": torch.ones(1, 2, dtype=torch.int64)}
        self.assertEqual(run_onnx(self.output / "model.onnx", inputs)[0].shape, (1, 2, 60))

    def test_an_image_model_whose_processor_knows_the_size(self):
        import json

        import transformers

        config = transformers.ResNetConfig(
            embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic", num_labels=3
        )
        folder = self.saved("ResNetForImageClassification", config)
        (folder / "preprocessor_config.json").write_text(
            json.dumps({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 40}})
        )
        sidecar = self.export(folder)
        self.assertEqual(sidecar["inputs"][0]["shape"][2:], [40, 40])

    def test_a_folder_without_a_configuration(self):
        (self.folder / "hub").mkdir()
        self.assert_fails("hub has no config.json; write the folder with save_pretrained", f"hf:{self.folder / 'hub'}")


@unittest.skipUnless(importlib.util.find_spec("timm"), "timm is not installed")
class TimmTest(ExportTest):
    def test_a_name_that_is_not_there(self):
        self.assert_fails("timm has no model 'convnext_ato'; did you mean convnext_atto", "timm:convnext_ato")
        self.assert_fails("timm has no model 'zzz'; timm.list_models() names them", "timm:zzz")


@unittest.skipIf(dynamo.is_there(), "PyTorch has the dynamo exporter")
class WithoutDynamoTest(ExportTest):
    def test_the_error_says_what_it_needs(self):
        self.assert_fails("--exporter dynamo: ", self.source(NET), "--exporter", "dynamo")
        self.assert_fails("it needs ", self.source(NET), "--exporter", "dynamo")


class MissingPackageTest(unittest.TestCase):
    def test_an_old_version_comes_before_a_missing_package(self):
        with unittest.mock.patch("importlib.util.find_spec", return_value=None):
            for version, missing in (("1.13.1", "it needs 2.5"), ("2.6.0", "package onnxscript")):
                with unittest.mock.patch.object(torch, "__version__", version):
                    self.assertIn(missing, dynamo.what_is_missing())


if __name__ == "__main__":
    unittest.main()
