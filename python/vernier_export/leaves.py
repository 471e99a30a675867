"""Leaves: modules without children, as they are called, named as Vernier's PyTorch runner does."""

from contextlib import contextmanager

import torch

from vernier_export.structure import walk


def traced_paths(model):
    """module -> path. A module known by several names has the one that tracing gives it: the first
    of its parent's names, and the last of its parents."""
    paths = {}

    def visit(module, prefix):
        for name, child in module.named_children():
            paths[child] = prefix + name
            visit(child, prefix + name + ".")

    visit(model, "")
    return paths


def is_leaf(module, path):
    """Parametrizations, as of weight_norm, compute a module's weights and are no layers."""
    has_children = any(name != "parametrizations" for name, _ in module.named_children())
    return not has_children and ".parametrizations." not in f".{path}."


class CallNames:
    """The second call of a module gets "_1", and so on, unless another module has that name."""

    def __init__(self, taken):
        self.taken = taken
        self.counts = {}

    def next(self, path):
        if path not in self.counts:
            self.counts[path] = 0
            return path
        while True:
            self.counts[path] += 1
            name = f"{path}_{self.counts[path]}"
            if name not in self.taken:
                return name


@contextmanager
def observed(model):
    """Yields a list that collects (name, copy) for each leaf's tensors during a call of the model.
    Copies, since an in-place operator that follows would overwrite them."""
    seen = []
    names = CallNames({path for path, _ in model.named_modules(remove_duplicate=False)})

    def hook(path):
        def after(module, inputs, output):
            tensors = [tensor for _, tensor in walk(output, "")]
            name = names.next(path)
            if isinstance(output, torch.Tensor):
                seen.append((name, output.clone()))
            else:
                seen.extend((f"{name}.{i}", each.clone()) for i, each in enumerate(tensors))

        return after

    leaves = [(m, p) for m, p in traced_paths(model).items() if is_leaf(m, p)]
    handles = [module.register_forward_hook(hook(path)) for module, path in leaves]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
