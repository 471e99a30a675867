"""Calls a model as it wants to be called, and makes it one that torch.jit.trace and
torch.onnx.export can take: tensors in by position, a tensor or a tuple of tensors out."""

from contextlib import contextmanager

import torch

from vernier_export.leaves import observed
from vernier_export.structure import flatten


def call(source, tensors, forward=None):
    forward = forward or source.model
    if source.by_keyword:
        return forward(**dict(zip(source.inputs, tensors)))
    return forward(*tensors)


def run(source, tensors):
    """[(name, tensor)]: what the model returns."""
    with torch.no_grad(), attention_fast_path_off(source.model):
        return flatten(call(source, tensors))


@contextmanager
def flat(source, with_leaves=False):
    """The model, taking and returning plain tensors; with_leaves: the leaves' tensors follow its
    outputs. The model keeps its place as the root, so that the paths of its modules stay the same.
    """
    model = source.model
    original = type(model)

    def forward(self, *tensors):
        def inner(*args, **kwargs):
            return original.forward(self, *args, **kwargs)

        if not with_leaves:
            return plain(flatten(call(source, tensors, inner)))
        with observed(self) as seen:
            outputs = flatten(call(source, tensors, inner))
        return plain(outputs + seen)

    model.__class__ = type(original.__name__, (original,), {"forward": forward})
    model.__class__.__module__ = original.__module__
    try:
        with attention_fast_path_off(model):
            yield model
    finally:
        model.__class__ = original


def plain(named):
    tensors = tuple(tensor for _, tensor in named)
    return tensors[0] if len(tensors) == 1 else tensors


@contextmanager
def attention_fast_path_off(model):
    """The fused attention of torch.nn has no ONNX form and other rounding. Where it cannot be
    switched off, parameters that want gradients, in a block that records them, keep it away."""
    switch = getattr(torch.backends, "mha", None)
    if switch is not None:
        before = switch.get_fastpath_enabled()
        switch.set_fastpath_enabled(False)
        try:
            yield
        finally:
            switch.set_fastpath_enabled(before)
        return
    frozen = [p for p in model.parameters() if p.is_floating_point() and not p.requires_grad]
    for parameter in frozen:
        parameter.requires_grad_(True)
    try:
        with torch.enable_grad():
            yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(False)
