"""The models of the sweep, each a function that gives (model, example inputs): small configurations with
seeded weights, or with VERNIER_SWEEP=full those that are published."""

import os

import torch

FULL = os.environ.get("VERNIER_SWEEP") == "full"
TOKENS = 32 if FULL else 12


def resnet18():
    return torchvision_model("resnet18")


def mobilenet_v3_small():
    return torchvision_model("mobilenet_v3_small")


def vit_b_16():
    from torchvision import models

    if FULL:
        return torchvision_model("vit_b_16", 224)
    sizes = {"num_layers": 2, "num_heads": 4, "hidden_dim": 32, "mlp_dim": 64, "num_classes": 10}
    return seeded(lambda: models.VisionTransformer(image_size=32, patch_size=8, **sizes)), image(32)


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(**({} if FULL else TEXT))
    return seeded(lambda: BertForSequenceClassification(config)), text(config)


def distilbert():
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    small = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, "vocab_size": 50}
    config = DistilBertConfig(**({} if FULL else small))
    return seeded(lambda: DistilBertForSequenceClassification(config)), text(config)


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    small = {**LAYERS, "image_size": 32, "patch_size": 8, "num_labels": 10}
    config = ViTConfig(**({} if FULL else small))
    return seeded(lambda: ViTForImageClassification(config)), {"pixel_values": image(config.image_size)}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    size = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 512}
    config = LlamaConfig(
        **({**size, "vocab_size": 1000} if FULL else {**LAYERS, "vocab_size": 50}),
        num_key_value_heads=2, use_cache=False,
    )
    return seeded(lambda: LlamaForCausalLM(config)), text(config)


def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    small = {
        "d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 64,
        "num_mel_bins": 8, "max_source_positions": 10,
    }
    config = WhisperConfig(**({} if FULL else small))
    features = drawn(1, config.num_mel_bins, 2 * config.max_source_positions)
    return seeded(lambda: WhisperEncoder(config)), {"input_features": features}


def convnext():
    return timm_model("convnext_atto" if FULL else "test_convnext")


def efficientnet():
    """Its norms have their activation functions as children."""
    return timm_model("efficientnet_lite0" if FULL else "test_efficientnet")


def swin():
    if FULL:
        return timm_model("swin_tiny_patch4_window7_224")
    sizes = {"img_size": 32, "patch_size": 2, "window_size": 4, "embed_dim": 16}
    return timm_model("swin_tiny_patch4_window7_224", depths=(2, 2), num_heads=(2, 4), num_classes=10, **sizes)


LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
TEXT = {**LAYERS, "vocab_size": 50, "max_position_embeddings": 16}
MODELS = (
    resnet18, mobilenet_v3_small, vit_b_16, bert, distilbert, vit, llama, whisper_encoder, convnext,
    efficientnet, swin,
)


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def image(size):
    return drawn(1, 3, size, size)


def text(config):
    ids = torch.randint(0, config.vocab_size, (1, TOKENS), generator=torch.Generator().manual_seed(7))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def torchvision_model(name, size=224 if FULL else 64):
    from torchvision import models

    return seeded(lambda: models.get_model(name, weights=None)), image(size)


def timm_model(name, **sizes):
    import timm

    model = seeded(lambda: timm.create_model(name, **sizes))
    return model, image(model.default_cfg["input_size"][-1] if not sizes else sizes["img_size"])


def seeded(make):
    """In eval mode, as after training: statistics, scales and shifts are none of the neutral ones."""
    torch.manual_seed(42)
    model = make().eval()
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
        if "Norm" in type(module).__name__ and getattr(module, "weight", None) is not None:
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            if getattr(module, "bias", None) is not None:
                torch.nn.init.normal_(module.bias, 0, 0.1)
    return model
