"""Names for the tensors inside what a model returns, the same as Vernier's PyTorch runner gives."""

import torch


def flatten(value):
    """[(name, tensor)]: "output" for a tensor, "output_0"... for those of a tuple or list, the keys
    of a dictionary or named tuple. What is not a tensor is left out."""
    return [(name or "output", tensor) for name, tensor in walk(value, "")]


def walk(value, name):
    if isinstance(value, torch.Tensor):
        yield name, value
    elif hasattr(value, "keys"):  # transformers' outputs are dictionaries that skip what is None
        for key in value.keys():
            yield from walk(value[key], join(name, str(key)))
    elif isinstance(value, (tuple, list)):
        keys = getattr(value, "_fields", range(len(value)))
        for key, element in zip(keys, value):
            yield from walk(element, join(name, str(key)))


def join(container, key):
    if container:
        return f"{container}_{key}"
    return f"output_{key}" if key.isdigit() else key
