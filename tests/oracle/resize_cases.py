"""Images and what Pillow's resize makes of them, for tests/data/resize_test.cpp.

Writes to stdout, for each case: "width height channels new_width new_height filter", the pixels
before and the pixels after; each as a blob behind its length in 8 bytes.
"""
import struct
import sys

import numpy as np
from PIL import Image

rng = np.random.default_rng(11)
sizes = [(1, 1), (2, 3), (7, 5), (8, 8), (16, 9), (31, 33), (64, 48), (100, 75), (3, 200), (257, 1)]
new_sizes = sizes + [(224, 224), (5, 64), (128, 96)]
large = [((500, 375), (341, 256)), ((375, 500), (224, 224)), ((640, 480), (299, 299)), ((28, 28), (224, 224))]


def write(blob):
    sys.stdout.buffer.write(struct.pack("<Q", len(blob)) + blob)


def pictures(width, height, channels):
    """Noise between the extremes, and only the extremes: filters overshoot there."""
    noise = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    return noise, np.where(noise < 128, 0, 255).astype(np.uint8)


pairs = [(old, new) for old in sizes for new in new_sizes] + large
for (width, height), new in pairs:
    for channels in (1, 3):
        for pixels in pictures(width, height, channels):
            image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
            for filter in Image.Resampling:
                write(f"{width} {height} {channels} {new[0]} {new[1]} {filter.name.lower()}".encode())
                write(pixels.tobytes())
                write(image.resize(new, filter).tobytes())
