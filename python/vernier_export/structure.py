"""Names for the tensors inside what a model returns, the same as Vernier's PyTorch runner gives."""

import torch


def flatten(value):
    """[(name, tensor)]: "output" for a tensor, "output_0"... for those of a tuple or list, the keys
    of a dictionary or named tuple. What is not a tensor is left out."""
    return [(name or "output", tensor) for name, tensor in walk(value, "")]


def walk(value, name):
    if isinstance(value, torch.Tensor):
        yield name, value
    elif caches := parts_of_cache(value):
        for key, part in caches:
            yield from walk(part, join(name, key))
    elif hasattr(value, "keys"):  # transformers' outputs are dictionaries without None values
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


def parts_of_cache(value):
    """[(key, tensors)] of transformers' caches of attention, of any of its versions; else nothing."""
    if hasattr(value, "self_attention_cache"):
        return [("decoder", value.self_attention_cache), ("encoder", value.cross_attention_cache)]
    if hasattr(value, "key_cache"):
        pairs = zip(value.key_cache, value.value_cache)
    elif isinstance(getattr(value, "layers", None), list) and hasattr(value, "get_seq_length"):
        pairs = ((layer.keys, layer.values) for layer in value.layers)
    else:
        return []
    return [(str(i), {"key": key, "value": held}) for i, (key, held) in enumerate(pairs)]
