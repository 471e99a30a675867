import importlib.util
import unittest

import torch
from exporting import ExportTest

SMALL = ("torchvision/squeezenet1_1", "--shape", "1x3x32x32")


@unittest.skipIf(importlib.util.find_spec("torchvision") is None, "torchvision is not installed")
class Torchvision(ExportTest):
    def test_random_weights_are_seeded_and_announced(self):
        sidecar = self.export(*SMALL, "--seed", 3)
        self.assertIn("random weights (seed 3)", self.err)
        self.assertEqual(sidecar["weights"], "random, seed 3")
        self.assertEqual(sidecar["task"], "image-classification")
        self.assertEqual(sidecar["inputs"][0]["shape"], ["batch", 3, 32, 32])
        first = torch.jit.load(str(self.output / "model.pt")).state_dict()
        self.export(*SMALL, "--seed", 3)
        again = torch.jit.load(str(self.output / "model.pt")).state_dict()
        self.assertTrue(all(torch.equal(first[key], again[key]) for key in first))

    def test_the_sidecar_tells_how_images_are_prepared(self):
        preprocessing = self.export(*SMALL)["preprocessing"]
        self.assertEqual(preprocessing["resize"], {"shortest_edge": 256})
        self.assertEqual(preprocessing["center_crop"], {"height": 224, "width": 224})
        self.assertEqual(preprocessing["mean"], [0.485, 0.456, 0.406])

    def test_a_state_dict_is_loaded(self):
        from torchvision import models

        torch.manual_seed(8)
        state = models.squeezenet1_1(weights=None).state_dict()
        path = self.folder / "weights.pth"
        torch.save(state, path)
        sidecar = self.export(*SMALL, "--weights", path)
        self.assertTrue(sidecar["weights"].startswith("sha256 "))
        loaded = torch.jit.load(str(self.output / "model.pt")).state_dict()
        self.assertTrue(torch.equal(loaded["features.0.weight"], state["features.0.weight"]))

    def test_weights_of_another_model_are_an_error(self):
        path = self.folder / "weights.pth"
        torch.save({"weight": torch.ones(1)}, path)
        self.assert_fails("are not weights of this model", *SMALL, "--weights", path)
        self.assert_fails("none.pth: no such file", *SMALL, "--weights", self.folder / "none.pth")

    def test_an_unknown_name_brings_similar_ones(self):
        self.assert_fails("did you mean squeezenet1_1", "torchvision/squeezenet1")

    def test_attention_is_written_without_its_fast_path(self):
        self.export(self.source("""
            from torchvision.models import VisionTransformer

            def model():
                vit = VisionTransformer(32, 16, num_layers=1, num_heads=2, hidden_dim=8, mlp_dim=16)
                return vit.eval().requires_grad_(False), torch.rand(1, 3, 32, 32)
        """))


if __name__ == "__main__":
    unittest.main()
