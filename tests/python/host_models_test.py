"""The host with models of transformers, timm and torchvision, made from configurations with seeded
weights."""

import contextlib
import importlib
import io
import unittest

import torch

from hosting import MODERN, HostTest

RING = 1 << 24


def has(package):
    """Whether it can be imported; an installed one may not go with this PyTorch."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            importlib.import_module(package)
        return True
    except Exception:
        return False


def floats(name, shape):
    values = torch.rand(shape, generator=torch.Generator().manual_seed(1))
    return name, "float32", list(shape), values.flatten().tolist()


def ids(name, shape, limit):
    values = torch.randint(0, limit, shape, generator=torch.Generator().manual_seed(1))
    return name, "int64", list(shape), values.flatten().tolist()


def tensor(given):
    _, dtype, shape, values = given
    return torch.tensor(values, dtype=getattr(torch, dtype)).reshape(shape)


def leaves_called(model, call):
    """How many calls of modules without children there are."""
    count = []
    handles = [
        module.register_forward_hook(lambda *_: count.append(1))
        for module in model.modules()
        if not any(module.children())
    ]
    with torch.no_grad():
        result = call(model)
    for handle in handles:
        handle.remove()
    return len(count), result


class ModelTest(HostTest):
    def expect_same(self, host, inputs, model, call, **describe):
        """The host shows every leaf and returns what the model returns, bit for bit."""
        count, expected = leaves_called(model, call)
        description = host.describe(inputs, **describe)
        self.assertEqual(len(description["layers"]), count)
        tensors, outputs = host.run(inputs)
        self.assertEqual([name for name, _ in tensors], [each["name"] for each in description["layers"]])
        self.assertEqual(outputs[0][1], expected.flatten().tolist())
        return description


@unittest.skipUnless(has("transformers"), "transformers is not installed")
class TransformersTest(ModelTest):
    def saved(self, name, config, seed=3):
        import transformers

        torch.manual_seed(seed)
        model = getattr(transformers, name)(config).eval()
        model.save_pretrained(self.folder / "model")
        return model, f"hf:{self.folder / 'model'}"

    def bert(self):
        import transformers

        config = transformers.BertConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            vocab_size=50, max_position_embeddings=16,
        )
        return self.saved("BertForSequenceClassification", config)

    def test_a_folder_is_loaded_as_the_class_that_it_names(self):
        model, source = self.bert()
        inputs = [ids("input_ids", (1, 8), 50), ("attention_mask", "int64", [1, 8], [1] * 8)]

        def call(net):
            return net(input_ids=tensor(inputs[0]), attention_mask=tensor(inputs[1])).logits

        description = self.expect_same(self.start(source, ring=RING), inputs, model, call)
        self.assertEqual([each["name"] for each in description["outputs"]], ["logits"])
        self.assertIn("transformers", description["versions"])
        first = description["layers"][0]
        self.assertEqual(first["name"], "bert.embeddings.word_embeddings")
        self.assertRegex(first["source"], r"^modeling_bert\.py:\d+$")

    def test_the_truth_is_float64_throughout(self):
        model, source = self.bert()
        inputs = [ids("input_ids", (1, 8), 50)]
        host = self.start(source, ring=RING)
        description = host.describe(inputs, precision="float64")
        self.assertEqual({each["dtype"] for each in description["layers"]}, {"float64"})
        with torch.no_grad():
            expected = model.double()(input_ids=tensor(inputs[0])).logits.flatten()
        found = torch.tensor(host.run(inputs)[1][0][1], dtype=torch.float64)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)

    def llama(self):
        import transformers

        config = transformers.LlamaConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
            intermediate_size=32, vocab_size=50, max_position_embeddings=32,
        )
        return self.saved("LlamaForCausalLM", config)

    def test_a_cache_is_taken_and_returned_in_its_parts(self):
        model, source = self.llama()
        past = [
            floats(f"past_key_values.{layer}.{half}", (1, 2, 5, 8))
            for layer in range(2)
            for half in ("key", "value")
        ]
        inputs = [ids("input_ids", (1, 3), 50), *past]
        host = self.start(source, ring=RING)
        description = host.describe(inputs, outputs=["logits", "present.0.key"])
        names = [each["name"] for each in description["outputs"]]
        cache = [f"past_key_values_{i}_{half}" for i in range(2) for half in ("key", "value")]
        self.assertEqual(names, ["logits", *cache])
        self.assertEqual(description["outputs"][1]["shape"], [1, 2, 8, 8])
        outputs = dict(host.run(inputs)[1])
        kept = torch.tensor(outputs["past_key_values_0_key"]).reshape(1, 2, 8, 8)[:, :, :5]
        self.assertTrue(torch.equal(kept, tensor(past[0])))

    def test_a_cache_that_nobody_asks_for_is_left_out(self):
        _, source = self.llama()
        description = self.start(source, ring=RING).describe([ids("input_ids", (1, 3), 50)])
        self.assertEqual([each["name"] for each in description["outputs"]], ["logits"])

    def test_a_model_in_half_precision_is_run_in_float32(self):
        model, source = self.bert()
        model.half().save_pretrained(self.folder / "model")
        description = self.start(source, ring=RING).describe([ids("input_ids", (1, 3), 50)])
        self.assertEqual({each["dtype"] for each in description["layers"]}, {"float32"})


@unittest.skipUnless(has("timm"), "timm is not installed, or does not go with this PyTorch")
class TimmTest(ModelTest):
    def test_a_model_has_the_weights_of_the_seed(self):
        import timm

        torch.manual_seed(42)
        model = timm.create_model("test_convnext").eval()
        x = floats("x", (1, 3, 64, 64))
        host = self.start("timm:test_convnext", ring=RING)
        description = self.expect_same(host, [x], model, lambda net: net(tensor(x)))
        self.assertIn("random weights", description["warnings"][0])
        self.assertIn("timm", description["versions"])


@unittest.skipUnless(has("torchvision"), "torchvision is not installed, or does not go with this PyTorch")
class TorchvisionTest(ModelTest):
    def test_leaves_are_as_many_as_others_count(self):
        counts = {"resnet18": (60, 64), "mobilenet_v3_small": (141, 64), "vit_b_16": (100, 224)}
        for name, (count, size) in counts.items():
            with self.subTest(name):
                x = floats("x", (1, 3, size, size))
                layers = self.start(f"torchvision:{name}", ring=RING).describe([x])["layers"]
                self.assertEqual(len(layers), count)

    @unittest.skipUnless(MODERN, "operators are shown from PyTorch 2.1 on")
    def test_fused_attention_is_opened_when_asked(self):
        code = """
            def model():
                torch.manual_seed(0)
                return nn.TransformerEncoderLayer(8, 2, batch_first=True)
        """
        x = floats("src", (1, 4, 8))
        host = self.model(code, "--open-attention", ring=RING)
        description = host.describe([x], watch="operators")
        names = [each["type"] for each in description["layers"]]
        self.assertNotIn("aten._transformer_encoder_layer_fwd", names)
        self.assertIn("which moves the result", description["warnings"][0])


if __name__ == "__main__":
    unittest.main()
