"""Shows each leaf: a module without children, as it is called."""

import os
import sys
from contextlib import contextmanager

import torch

from vernier_export.leaves import CallNames, is_leaf, traced_paths
from vernier_export.structure import walk

PACKAGE = os.path.dirname(os.path.abspath(__file__))
TORCH = os.path.dirname(os.path.abspath(torch.__file__))


# timm's norms have their activation function as a child.
NORMS = (torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm)


# What GELUs compute that have no attribute for it.
LIBRARIES = ("timm", "transformers")
GELUS = {
    "GELU": "none",
    "GELUActivation": "none",
    "GELUTanh": "tanh",
    "PytorchGELUTanh": "tanh",
    "NewGELUActivation": "tanh",
    "FastGELUActivation": "tanh",
}


class Leaves:
    """Also of norms with children: what they normalise is what the first child that they call is given."""

    def __init__(self, model):
        paths = traced_paths(model)
        leaves = [(m, path) for m, path in paths.items() if is_leaf(m, path)]
        norms = [(m, path) for m, path in paths.items() if not is_leaf(m, path) and isinstance(m, NORMS)]
        self.norms = [(m, path) for m, path in norms if can_be_hooked(m)]
        self.leaves = [(m, path) for m, path in leaves if can_be_hooked(m)]
        self.scripted = [(m, path) for m, path in leaves if not can_be_hooked(m)]
        self.taken = {path for path, _ in model.named_modules(remove_duplicate=False)}

    def unwatched(self):
        reason = "it is TorchScript, which takes no hooks"
        return [{"name": path, "type": type_of(m), "reason": reason} for m, path in self.scripted]

    @contextmanager
    def watching(self, show):
        """Calls show(name, tensor, about) with each tensor that a leaf returns, at once: an in-place
        operator may overwrite it. about() tells the rest."""
        names = CallNames(self.taken)
        calls = {}

        def after(path):
            def hook(module, inputs, output):
                name = names.next(path)
                calls[path] = call = calls.get(path, -1) + 1

                def about():
                    return {
                        "type": type_of(module),
                        "module": path,
                        "call": call,
                        "source": calling_line(),
                        "constants": constants(module),
                        "settings": settings(module),
                    }

                tensors = [tensor for _, tensor in walk(output, "")]
                single = isinstance(output, torch.Tensor)
                for i, tensor in enumerate(tensors):
                    show(name if single else f"{name}.{i}", tensor, about)

            return hook

        handles = [module.register_forward_hook(after(path)) for module, path in self.leaves]
        for norm, path in self.norms:
            handles += watch_inside(norm, after(path))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def watch_inside(norm, show):
    """Hooks that call show(norm, inputs, output) once in each call of the norm."""
    shape = None

    def begin(norm, inputs):
        nonlocal shape
        shape = inputs[0].shape if inputs else None

    def first_child(child, inputs):
        nonlocal shape
        if inputs and isinstance(inputs[0], torch.Tensor) and inputs[0].shape == shape:
            shape = None
            show(norm, (), inputs[0])

    children = [child.register_forward_pre_hook(first_child) for child in norm.children()]
    return [norm.register_forward_pre_hook(begin), *children]


def can_be_hooked(module):
    return not isinstance(module, torch.jit.ScriptModule)


def type_of(module):
    if hasattr(module, "type_name"):  # an unflattened program: the original class
        return str(module.type_name()).rpartition(".")[2]
    own = type(module).__bases__[0] if hasattr(module, "parametrizations") else type(module)
    return getattr(module, "original_name", own.__name__)


def constants(module):
    """The module's numbers: eps, negative_slope..."""
    if hasattr(module, "type_name") and hasattr(module, "graph"):
        return operator_numbers(module.graph)
    numbers = {
        key: float(value)
        for key, value in vars(module).items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key[0] != "_"
    }
    for other in ("variance_epsilon", "epsilon", "layer_norm_eps"):
        if other in numbers:
            numbers.setdefault("eps", numbers[other])
    if approximate := gelu_form(module):
        numbers["approximate"] = float(approximate == "tanh")
    return numbers


def settings(module):
    """Its other settings as text: mode, align_corners, dilation..."""
    if hasattr(module, "type_name") and hasattr(module, "graph"):
        return operator_settings(module.graph)
    return texts_of({key: value for key, value in vars(module).items() if key[0] != "_"})


def texts_of(values):
    """"bilinear", "1" for True, "[2,2]"; without what is neither text nor integers."""
    texts = {}
    for key, value in values.items():
        if isinstance(value, str):
            texts[key] = value
        elif isinstance(value, int):
            texts[key] = str(int(value))
        elif isinstance(value, (tuple, list)) and all(isinstance(each, int) for each in value):
            texts[key] = f"[{','.join(str(int(each)) for each in value)}]"
    return texts


def operator_settings(graph):
    """Those that the operators of an unflattened module are given, and the names of these."""
    given, operators = {}, []
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None:
            continue
        operators.append(schema.name.rpartition("::")[2])
        named = dict(zip([argument.name for argument in schema.arguments], node.args))
        given = {**named, **node.kwargs, **given}
    return {**texts_of(given), "operators": " ".join(operators)}


def gelu_form(module):
    """"none" or "tanh"; None if the module is no GELU, or one that nothing is known of."""
    if isinstance(module, torch.nn.GELU):
        return module.approximate
    return GELUS.get(type(module).__name__) if type(module).__module__.split(".")[0] in LIBRARIES else None


def operator_numbers(graph):
    """Those that the operators of an unflattened module are given: it has no others."""
    numbers = {}
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None:
            continue
        given = dict(zip([argument.name for argument in schema.arguments], node.args))
        for name, value in {**given, **node.kwargs}.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                numbers.setdefault(name, float(value))
        if schema.name == "aten::gelu":
            numbers["approximate"] = float(node.kwargs.get("approximate") == "tanh")
    return numbers


def calling_line():
    """The innermost line outside PyTorch that led here, "modeling.py:12"; empty if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((PACKAGE, TORCH, "<")):
            return f"{os.path.basename(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
