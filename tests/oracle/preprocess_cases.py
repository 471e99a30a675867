"""What an image becomes under an image processor's settings, for tests/data/preprocess_test.cpp.

Written from the documented behaviour of Hugging Face's image processors (resize with Pillow, centre
crop, rescale, normalise, pad) and, where torchvision is there, with its own transforms. Writes to
stdout, for each case: its name, the settings as JSON, "width height", the RGB pixels, "height
width" of the result, and the result as float32 [3, height, width]; each as a blob behind its
length in 8 bytes.
"""
import json
import math
import struct
import sys

import numpy as np
from PIL import Image

rng = np.random.default_rng(3)
SIZES = [(64, 48), (48, 64), (50, 50), (33, 97), (20, 30), (301, 200)]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def edge_size(width, height, edge):
    short, long = min(width, height), max(width, height)
    new_long = int(edge * long / short)
    return (edge, new_long) if width <= height else (new_long, edge)


def new_size(settings, width, height):
    size = settings["size"]
    if "height" in size:
        return size["width"], size["height"]
    edge = size.get("shortest_edge")
    if edge is None:
        scale = size["longest_edge"] / max(width, height)
        return int(width * scale + 0.5), int(height * scale + 0.5)
    if "crop_pct" in settings:
        edge = int(edge / settings["crop_pct"])
    return edge_size(width, height, edge)


def center_crop(array, height, width):
    """Zeros are put around an image that is smaller; a margin that is odd is smaller in front."""
    old_height, old_width, _ = array.shape
    top_pad = max(0, math.ceil((height - old_height) / 2))
    left_pad = max(0, math.ceil((width - old_width) / 2))
    canvas = np.zeros((max(height, old_height), max(width, old_width), 3), array.dtype)
    canvas[top_pad:top_pad + old_height, left_pad:left_pad + old_width] = array
    top = max(0, (old_height - height) // 2)
    left = max(0, (old_width - width) // 2)
    return canvas[top:top + height, left:left + width]


def processed(settings, pixels):
    image = Image.fromarray(pixels)
    if settings.get("do_resize"):
        image = image.resize(new_size(settings, *image.size), settings["resample"])
    array = np.asarray(image)
    crop = settings.get("crop_size") if settings.get("do_center_crop") else None
    if "crop_pct" in settings:
        edge = settings["size"]["shortest_edge"]
        crop = {"height": edge, "width": edge}
    if crop:
        array = center_crop(array, crop["height"], crop["width"])
    if settings.get("do_rescale", True):
        array = (array.astype(np.float64) * settings.get("rescale_factor", 1 / 255)).astype(np.float32)
    array = array.astype(np.float32)
    if settings.get("do_normalize"):
        array = (array - np.array(settings["image_mean"], np.float32)) / np.array(settings["image_std"], np.float32)
    if settings.get("do_flip_channel_order"):
        array = array[..., ::-1]
    if settings.get("do_pad"):
        size = settings["pad_size"]
        padded = np.zeros((size["height"], size["width"], 3), np.float32)
        padded[:array.shape[0], :array.shape[1]] = array
        array = padded
    return array.transpose(2, 0, 1)


def processor_cases():
    normal = {"do_normalize": True, "image_mean": MEAN, "image_std": STD}
    half = {"do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    for resample in range(6):
        yield {"do_resize": True, "size": {"height": 32, "width": 40}, "resample": resample, **half}
        yield {"do_resize": True, "size": {"shortest_edge": 36}, "resample": resample, **normal,
               "do_center_crop": True, "crop_size": {"height": 32, "width": 32}}
    yield {"do_resize": True, "size": {"shortest_edge": 28}, "resample": 3, "crop_pct": 0.875, **normal}
    yield {"do_resize": True, "size": {"longest_edge": 40}, "resample": 2, **normal,
           "do_pad": True, "pad_size": {"height": 40, "width": 40}}
    for crop in (31, 32, 45, 70):
        yield {"do_resize": False, "do_center_crop": True, "crop_size": {"height": crop, "width": crop}, **normal}
    yield {"do_resize": False, "do_rescale": False, "do_normalize": False}
    yield {"do_resize": False, "rescale_factor": 1 / 127.5, **half}
    yield {"do_resize": False, "do_flip_channel_order": True}


def torchvision_cases():
    try:
        import torch
        from torchvision import transforms
    except ImportError:
        return
    modes = {"bilinear": transforms.InterpolationMode.BILINEAR, "bicubic": transforms.InterpolationMode.BICUBIC}
    for interpolation, mode in modes.items():
        for resize, crop in [(36, 32), (35, 32), (39, 32), (20, 32), (41, 31)]:
            settings = {"preprocessing": {
                "resize": {"shortest_edge": resize}, "interpolation": interpolation,
                "center_crop": {"height": crop, "width": crop}, "crop_origin": "round", "mean": MEAN, "std": STD}}
            steps = transforms.Compose([
                transforms.Resize(resize, interpolation=mode), transforms.CenterCrop(crop), transforms.ToTensor(),
                transforms.Normalize(MEAN, STD)])
            yield settings, lambda pixels, steps=steps: steps(Image.fromarray(pixels)).numpy()


def write(blob):
    sys.stdout.buffer.write(struct.pack("<Q", len(blob)) + blob)


cases = [(settings, lambda pixels, settings=settings: processed(settings, pixels)) for settings in processor_cases()]
for number, (settings, apply) in enumerate(cases + list(torchvision_cases())):
    for width, height in SIZES:
        pixels = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        result = np.ascontiguousarray(apply(pixels), dtype=np.float32)
        write(f"case {number}, {width}x{height}".encode())
        write(json.dumps(settings).encode())
        write(b"%d %d" % (width, height))
        write(pixels.tobytes())
        write(b"%d %d" % result.shape[1:])
        write(result.tobytes())
