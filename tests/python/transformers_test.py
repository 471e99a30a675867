import importlib.util
import sys
import unittest
from pathlib import Path

from exporting import ExportTest

STAND_IN = str(Path(__file__).parent / "stand_in")


class Transformers(ExportTest):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, STAND_IN)
        self.addCleanup(self.forget)

    def forget(self):
        sys.path.remove(STAND_IN)
        for name in [each for each in sys.modules if each.split(".")[0] == "transformers"]:
            del sys.modules[name]

    def test_a_text_model_takes_ids_and_mask_of_its_configuration(self):
        sidecar = self.export("tiny/text", "--task", "token-classification", "--instrument")
        self.assertEqual(
            [(each["name"], each["dtype"], each["shape"]) for each in sidecar["inputs"]],
            [("input_ids", "int64", ["batch", 8]), ("attention_mask", "int64", ["batch", 8])],
        )
        names = [each["name"] for each in sidecar["outputs"]]
        self.assertEqual(names, ["logits", "last_hidden_state"])
        self.assertEqual(sidecar["leaves"], ["embedding", "head"])
        self.assertEqual(sidecar["task"], "token-classification")

    def test_an_image_model_takes_the_size_of_its_inner_configuration_and_brings_its_processor(self):
        sidecar = self.export("tiny/image", "--task", "image-classification")
        self.assertEqual(sidecar["inputs"][0]["shape"], ["batch", 1, 6, 6])
        self.assertTrue((self.output / "preprocessor_config.json").exists())

    def test_the_class_that_the_configuration_names_needs_no_task(self):
        sidecar = self.export("hf:tiny/known")
        self.assertEqual(sidecar["inputs"][0]["shape"], ["batch", 1, 6, 6])

    def test_a_task_is_needed_and_must_be_known(self):
        self.assert_fails("names no architecture; pass --task", "tiny/text")
        self.assert_fails("--task nonsense: expected one of", "tiny/text", "--task", "nonsense")

    def test_a_model_that_is_not_there(self):
        for reason in ("no such file or folder, and no Hugging Face model", "tiny/none is not a local folder"):
            self.assert_fails(reason, "tiny/none", "--task", "token-classification")

    def test_a_model_of_another_task(self):
        self.assert_fails(
            "Unrecognized configuration class", "tiny/text", "--task", "image-classification"
        )

    def test_an_input_that_is_neither_text_nor_image(self):
        self.assert_fails(
            "'input_values' is neither text nor image nor sound",
            "tiny/audio",
            "--task",
            "image-classification",
        )


class WithoutTransformers(ExportTest):
    @unittest.skipIf(importlib.util.find_spec("transformers"), "transformers is installed")
    def test_the_error_says_how_to_install_it(self):
        self.assert_fails("pip install transformers", "tiny/text", "--task", "fill-mask")


if __name__ == "__main__":
    unittest.main()
