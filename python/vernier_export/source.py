"""What is exported or run: a model, and example inputs if they are needed, by the name the user
gave."""

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch

from vernier_export.errors import ExportError, first_line, similar


@dataclass
class Source:
    model: torch.nn.Module
    inputs: dict = None  # name -> example tensor, in the order of the model's inputs
    by_keyword: bool = False  # whether the model takes them by name
    task: str = ""
    weights: str = ""  # where the weights come from
    preprocessing: dict = None  # for the sidecar
    processor: object = None  # writes its own configuration with save_pretrained(folder)
    packages: list = field(default_factory=list)  # packages whose versions affect the model
    input_names: list = None  # if forward's signature does not name the inputs
    by_position: int = 0  # how many of them are passed by position


FUNCTION = re.compile(r"(?P<place>.+?\.py|[A-Za-z_][\w.]*):(?P<function>[A-Za-z_]\w*)")


def resolve(name, options):
    """The model that `name` stands for; `options` are those of the command line. Without
    options.needs_inputs it may come without any."""
    kind, _, rest = name.partition(":")
    if kind == "torchvision" or name.startswith("torchvision/"):
        from vernier_export.torchvision_source import resolve_torchvision

        return resolve_torchvision(rest or name.removeprefix("torchvision/"), options)
    if kind == "timm":
        from vernier_export.timm_source import resolve_timm

        return resolve_timm(rest, options)
    if kind != "hf" and name.endswith(".pt2"):
        return resolve_program(name)
    if kind != "hf" and (match := FUNCTION.fullmatch(name)):
        return resolve_function(match["place"], match["function"], options)
    from vernier_export.transformers_source import resolve_transformers

    return resolve_transformers(rest if kind == "hf" else name, options)


def resolve_function(place, name, options):
    """FILE.py:FUNCTION or package.module:FUNCTION: a function, or class, that gives a model, or
    (model, example inputs). With options.weights the state dict is loaded into it."""
    module = load_module(place)
    function = getattr(module, name, None)
    if not callable(function):
        known = [each for each, value in vars(module).items() if callable(value)]
        raise ExportError(f"{place} has no function '{name}'{similar(name, known)}")
    result = function()
    model, example = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    if not isinstance(model, torch.nn.Module):
        raise ExportError(f"expected a torch.nn.Module, found {type(model).__name__}")
    if example is None and options.needs_inputs:
        raise ExportError(f"{place}:{name} must return (model, example inputs)")
    weights = load_weights(model, options.weights) if options.weights else ""
    by_keyword = isinstance(example, dict)
    inputs = dict(example) if by_keyword else named_by_signature(model, example)
    return Source(model, inputs, by_keyword, task=options.task or "", weights=weights)


def import_outputs_of_transformers():
    with contextlib.suppress(ImportError):
        importlib.import_module("transformers.modeling_outputs")


def resolve_program(path):
    """A program that torch.export saved, with the modules it was made of."""
    if not Path(path).is_file():
        raise ExportError("no such file")
    try:
        program = torch.export.load(path)
    except RuntimeError:  # output types of Hugging Face models must be imported first
        import_outputs_of_transformers()
        program = torch.export.load(path)
    arguments, _ = program.example_inputs
    names = list(program.graph_signature.user_inputs)
    try:
        model = torch.export.unflatten(program)
    except RuntimeError as error:  # PyTorch 2.6 cannot unflatten a Sequential
        raise ExportError(
            f"its modules cannot be told apart ({first_line(error)}); "
            "export it with torch.export.export(…, strict=False)"
        ) from error
    return Source(model, input_names=names, by_position=len(arguments))


def load_weights(model, path):
    """Loads a state dict, without running what else a pickle may hold, and says which it was."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        state = state.get("state_dict", state.get("model", state))
        model.load_state_dict(state)
    except FileNotFoundError as error:
        raise ExportError(f"{path}: no such file") from error
    except Exception as error:
        details = " ".join(str(error).split())
        raise ExportError(f"{path}: are not weights of this model: {details[:200]}") from error
    with open(path, "rb") as file:
        return "sha256 " + hashlib.sha256(file.read()).hexdigest()


def load_module(place):
    if not place.endswith(".py"):
        sys.path.insert(0, "")  # packages in the current folder, as with `python -m`
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ExportError(f"{first_line(error)}; run it in the folder of the package") from error
    path = Path(place)
    if not path.is_file():
        raise ExportError(f"{place}: no such file")
    sys.path.insert(0, str(path.resolve().parent))  # the file may import modules in its folder
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def named_by_signature(model, example):
    if example is None:
        return None
    values = list(example) if isinstance(example, (tuple, list)) else [example]
    names = [
        name
        for name, parameter in inspect.signature(model.forward).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    names += [f"input_{i}" for i in range(len(names), len(values))]  # inputs in *args
    return dict(zip(names, values))
