"""Which axes are dynamic: the batch, and those that were asked for."""

import re

import torch

from vernier_export.errors import ExportError

BATCH = "batch"


def parse_dynamic(text, inputs):
    """{symbol: [(input, axis)]} from "ids:1=tokens,mask:1=tokens"; without "=symbol" an axis has
    one of its own."""
    symbols = {}
    for part in text.split(",") if text else []:
        match = re.fullmatch(r"(?P<name>[^:=]+):(?P<axis>\d+)(=(?P<symbol>\w+))?", part)
        if not match:
            raise ExportError(f"--dynamic {part}: expected NAME:AXIS or NAME:AXIS=SYMBOL")
        name, axis = match["name"], int(match["axis"])
        if name not in inputs:
            raise ExportError(f"--dynamic {part}: its inputs are {', '.join(inputs)}")
        if axis >= inputs[name].dim():
            raise ExportError(f"--dynamic {part}: {name} has {inputs[name].dim()} axes")
        symbols.setdefault(match["symbol"] or f"{name}_{axis}", []).append((name, axis))
    return symbols


def batch_axes(inputs, taken):
    """Axis 0 of every input that has as many rows as the first one."""
    rows = next(iter(inputs.values())).shape[:1]
    axes = [(name, 0) for name, tensor in inputs.items() if tensor.dim() and tensor.shape[:1] == rows]
    return [axis for axis in axes if axis not in taken]


def resized(inputs, axes, symbol):
    """Random inputs like the examples, with one row more in a batch, and other axes doubled."""
    resized_inputs = dict(inputs)
    for name, axis in axes:
        shape = list(resized_inputs[name].shape)
        shape[axis] = shape[axis] + 1 if symbol == BATCH else 2 * shape[axis]
        resized_inputs[name] = random_like(inputs[name], shape)
    return resized_inputs


def random_like(example, shape=None):
    """Other values of the same kind: floats of the same spread around 0, integers of the same
    range."""
    shape = shape or list(example.shape)
    if example.dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if not example.is_floating_point():
        low, high = (int(example.min()), int(example.max())) if example.numel() else (0, 0)
        return torch.randint(low, high + 1, shape, dtype=example.dtype)
    spread = float(example.abs().max()) if example.numel() else 1.0
    return torch.randn(shape).to(example.dtype) * (spread or 1.0)


def changed_axes(before, after):
    """[(output, axis)] where the shapes of two runs differ; None if the outputs do not correspond."""
    if [name for name, _ in before] != [name for name, _ in after]:
        return None
    changed = []
    for (name, first), (_, second) in zip(before, after):
        if first.dim() != second.dim():
            return None
        sizes = enumerate(zip(first.shape, second.shape))
        changed += [(name, axis) for axis, (one, other) in sizes if one != other]
    return changed
