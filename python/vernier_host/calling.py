"""How the candidate's inputs become the arguments of forward: by name, a cache from its parts, or in
turn."""

import inspect
import re

import torch

from vernier_host.protocol import Failure

CACHE = "past_key_values"
# past_key_values.0.key, past_key_values_0_value, past_key_values_key_cache_0...
PART = re.compile(
    CACHE + r"[._]?(?P<before>\d+)?[._]?(?P<half>key|value)s?(?:_cache)?[._]?(?P<after>\d+)?"
)


class Calling:
    def __init__(self, source, inputs):
        self.given = inputs
        self.source = source
        self.names = [each["name"] for each in inputs]
        keywords, positions, takes_any = parameters_of(source)
        parts = {name: cache_part(name) for name in self.names if CACHE in keywords}
        self.parts = {name: part for name, part in parts.items() if part}
        known = [name for name in self.names if name in keywords or name in self.parts]
        self.by_name = len(known) == len(self.names) or (takes_any and not positions)
        if self.by_name:
            return
        if known or len(self.names) > len(positions):
            raise Failure(
                f"forward takes {', '.join(keywords) or 'no inputs'}, the candidate "
                f"{', '.join(self.names)}; give the arguments of forward the names of its inputs"
            )
        self.names = positions[: len(self.names)]

    def inputs(self, float64):
        """What run() is to be given, in this order. Floats are of the model's precision, and integers
        int64, which is what PyTorch's own examples use."""
        specs = []
        for name, given in zip(self.names, self.given):
            dtype = given["dtype"]
            if "float" in dtype:
                dtype = "float64" if float64 else "float32"
            elif dtype != "bool":
                dtype = "int64"
            specs.append({"name": name, "dtype": dtype})
            if "bytes" not in given:  # the model's own example: only the host knows its shape
                specs[-1]["shape"] = given["shape"]
        return specs

    def arguments(self, tensors, float64):
        tensors = [converted(tensor, float64) for tensor in tensors]
        if not self.by_name and not self.source.input_names:
            return tensors, {}
        named = dict(zip(self.names, tensors))
        if self.source.input_names:
            first = self.source.input_names[: self.source.by_position]
            return [named.pop(name) for name in first if name in named], named
        parts = {self.parts[name]: named.pop(name) for name in self.parts}
        if parts:
            named[CACHE] = cache_of(parts)
        return [], named


def parameters_of(source):
    """(names, those that may be given by position, whether any name is taken)."""
    if source.input_names:
        return source.input_names, source.input_names, False
    parameters = inspect.signature(source.model.forward).parameters

    def of(*kinds):
        return [name for name, each in parameters.items() if each.kind in kinds]

    kinds = inspect.Parameter
    keywords = of(kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
    positions = of(kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    return keywords, positions, bool(of(kinds.VAR_KEYWORD))


def inputs_among(source, arrays):
    """Those that forward takes by name, of the arrays of a file: [(spec, bytes)]. All where it knows none."""
    keywords, _, _ = parameters_of(source)
    known = [
        each
        for each in arrays
        if each[0]["name"] in keywords or (CACHE in keywords and cache_part(each[0]["name"]))
    ]
    return known or arrays


def converted(tensor, float64):
    if tensor.is_floating_point():
        return tensor.to(torch.float64 if float64 else torch.float32)
    return tensor if tensor.dtype == torch.bool else tensor.to(torch.int64)


def cache_part(name):
    """(layer, "key" or "value") of a tensor inside a cache; None for another."""
    match = PART.fullmatch(name)
    layer = match and (match["before"] or match["after"])
    return (int(layer), match["half"]) if layer else None


def cache_of(parts):
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer in sorted({layer for layer, _ in parts}):
        cache.update(parts[layer, "key"], parts[layer, "value"], layer)
    return cache
