"""Shows what each aten operator returns, named by the module that calls it."""

from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from vernier_export.leaves import CallNames, traced_paths
from vernier_host.leaves import calling_line, can_be_hooked, texts_of

# Operators whose other outputs (statistics, indices, a mask) are only for the gradient.
ONE_OUTPUT = (
    "native_layer_norm",
    "native_group_norm",
    "batch_norm",
    "scaled_dot_product",
    "max_pool",
    "native_dropout",
    "fused_rms_norm",
)


# Operators whose numeric arguments decide which weights an exporter may fold, or what they compute.
NUMBERED = ("convolution", "norm", "elu", "hardtanh", "threshold", "shrink")


class Operators:
    def __init__(self, model):
        self.paths = {model: "", **traced_paths(model)}
        self.weights = {id(each) for each in (*model.parameters(), *model.buffers())}

    def unwatched(self):
        return []

    @contextmanager
    def watching(self, show):
        stack = []

        def leave(*_):
            stack.pop()

        handles = []
        for module, path in self.paths.items():
            if can_be_hooked(module):
                handles.append(module.register_forward_pre_hook(lambda *_, p=path: stack.append(p)))
                handles.append(module.register_forward_hook(leave))
        try:
            with Mode(self.weights, stack, show):
                yield
        finally:
            for handle in handles:
                handle.remove()


class Mode(TorchDispatchMode):
    def __init__(self, weights, stack, show):
        super().__init__()
        self.weights, self.stack, self.show = weights, stack, show
        self.names = CallNames(set())
        self.calls = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if self.computes(func, args, result):
            self.show_result(func, args, result)
        return result

    def computes(self, func, args, result):
        """Whether it makes values from values: no view, nothing made from weights or nothing alone."""
        returned = func._schema.returns
        if not returned or (returned[0].alias_info and not returned[0].alias_info.is_write):
            return False
        read = [each for each in flat(args) if isinstance(each, torch.Tensor)]
        return any(id(each) not in self.weights for each in read)

    def show_result(self, func, args, result):
        operator = func._schema.name.rpartition("::")[2]
        path = self.stack[-1] if self.stack else ""
        place = f"{path}/{operator}" if path else operator
        name = self.names.next(place)
        self.calls[place] = call = self.calls.get(place, -1) + 1

        def about():
            return {
                "type": func._schema.name.replace("::", "."),
                "module": path,
                "call": call,
                "source": calling_line(),
                "constants": numbers(func, args) if any(part in operator for part in NUMBERED) else {},
                "settings": texts_of({each.name: value for each, value in zip(func._schema.arguments, args)}),
            }

        tensors = [each for each in flat((result,)) if isinstance(each, torch.Tensor)]
        if any(part in operator for part in ONE_OUTPUT):
            tensors = tensors[:1]
        for i, tensor in enumerate(tensors):
            self.show(name if len(tensors) == 1 else f"{name}.{i}", tensor, about)


def numbers(func, args):
    """The operator's numbers by their names: eps, transposed..."""
    named = zip(func._schema.arguments, args)
    return {each.name: float(value) for each, value in named if isinstance(value, (int, float))}


def flat(values):
    for each in values:
        if isinstance(each, (tuple, list)):
            yield from flat(each)
        else:
            yield each
