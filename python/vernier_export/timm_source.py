"""timm:NAME: any model of timm. A name with a tag ("resnet18.a1_in1k") has its published weights, one
without those of a file, or random ones."""

import math

import torch

from vernier_export.errors import ExportError, first_line, similar
from vernier_export.source import Source, load_weights, named_by_signature


def preprocessing_of(config):
    """What the sidecar says of timm's own evaluation: resize, crop, rescale to [0, 1], normalise. None
    where it crops in another way."""
    if config.get("crop_mode", "center") != "center" or config["input_size"][1] != config["input_size"][2]:
        return None
    size = config["input_size"][1]
    return {
        "resize": {"shortest_edge": math.floor(size / config["crop_pct"])},
        "interpolation": config["interpolation"],
        "center_crop": {"height": size, "width": size},
        "crop_origin": "round",
        "mean": list(config["mean"]),
        "std": list(config["std"]),
    }


def resolve_timm(name, options):
    try:
        import timm
    except ImportError as error:
        raise ExportError(f"needs timm ({first_line(error)}); install it: pip install timm") from error
    if not timm.is_model(name):
        known = similar(name, timm.list_models()) or "; timm.list_models() names them"
        raise ExportError(f"timm has no model '{name}'{known}")
    torch.manual_seed(options.seed)
    published = "." in name and not options.weights
    model = timm.create_model(name, pretrained=published).eval()
    weights = f"random, seed {options.seed}"
    if published:
        weights = name
    elif options.weights:
        weights = load_weights(model, options.weights)
    shape = options.shape or [1, *model.default_cfg["input_size"]]
    return Source(
        model,
        named_by_signature(model, torch.rand(*shape)),
        task=options.task or "image-classification",
        weights=weights,
        preprocessing=preprocessing_of(model.default_cfg),
        packages=["timm"],
    )
