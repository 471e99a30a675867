"""torchvision/NAME: any model of torchvision, with a file of weights or random ones."""

import inspect
import re

import torch

from vernier_export.errors import ExportError, first_line, similar
from vernier_export.source import Source, load_weights, named_by_signature

FRAMES = 16  # in an example video, unless the model needs more


def resolve_torchvision(name, options):
    models = import_models()
    if name not in models.list_models():
        raise ExportError(f"torchvision has no model '{name}'{similar(name, models.list_models())}")
    torch.manual_seed(options.seed)
    model = models.get_model(name, **no_download(models.get_model_builder(name)))
    weights = f"random, seed {options.seed}"
    if options.weights:
        weights = load_weights(model, options.weights)
    preset, meta = published(models, name)
    example = example_inputs(preset, meta, options.shape)
    return Source(
        model.eval(),
        named_by_signature(model, example),
        task=options.task or task_of(preset),
        weights=weights,
        preprocessing=preprocessing_of(preset),
        packages=["torchvision"],
    )


def import_models():
    try:
        from torchvision import models
    except ImportError as error:
        raise ExportError(
            f"needs torchvision ({first_line(error)}); install it: pip install torchvision"
        ) from error
    return models


def no_download(builder):
    """Arguments that keep a builder from fetching weights: some do unless they are told not to."""
    parameters = inspect.signature(builder).parameters
    return {key: None for key in ("weights", "weights_backbone") if key in parameters}


def published(models, name):
    """How the published weights' images are prepared, and what is said of them."""
    try:
        weights = models.get_model_weights(name).DEFAULT
    except (ValueError, AttributeError):
        return None, {}
    return weights.transforms(), weights.meta


def task_of(preset):
    """ImageClassification -> image-classification."""
    words = re.findall(r"[A-Z][a-z]*", type(preset).__name__) if preset else []
    return "-".join(words).lower()


def square(size):
    return [size[0], size[0]] if len(size) == 1 else list(size)


def example_inputs(preset, meta, shape):
    kind = type(preset).__name__
    smallest = meta.get("min_size", (1, 1))
    size = getattr(preset, "crop_size", None) or getattr(preset, "resize_size", None) or [224]
    height, width = (max(pair) for pair in zip(square(size), smallest))
    if shape:
        shapes = [shape]
    elif kind == "VideoClassification":
        shapes = [[1, 3, max(FRAMES, meta.get("min_temporal_size", 0)), height, width]]
    else:
        shapes = [[1, 3, height, width]]
    if kind == "OpticalFlow":
        shapes *= 2  # two frames
    return tuple(torch.rand(*each) for each in shapes)


def preprocessing_of(preset):
    """What the sidecar says: torchvision's presets resize, crop, rescale to [0, 1], normalise."""
    if task_of(preset) != "image-classification":
        return None
    resize = preset.resize_size
    edges = {"shortest_edge": resize[0]}
    if len(resize) == 2:
        edges = {"height": resize[0], "width": resize[1]}
    height, width = square(preset.crop_size)
    return {
        "resize": edges,
        "interpolation": preset.interpolation.value,
        "center_crop": {"height": height, "width": width},
        "crop_origin": "round",
        "mean": list(preset.mean),
        "std": list(preset.std),
    }
