"""What is exported: a model with example inputs, found by the name the user gave."""

import importlib
import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch

from vernier_export.errors import ExportError, first_line


@dataclass
class Source:
    model: torch.nn.Module
    inputs: dict  # name -> example tensor, in the order of the model's inputs
    by_keyword: bool = False  # whether the model takes them by name
    task: str = ""
    weights: str = ""  # where they came from
    preprocessing: dict = None  # of the sidecar
    processor: object = None  # writes its own configuration with save_pretrained(folder)
    packages: list = field(default_factory=list)  # whose versions made the model what it is


FUNCTION = re.compile(r"(?P<place>.+?\.py|[A-Za-z_][\w.]*):(?P<function>[A-Za-z_]\w*)")


def resolve(name, options):
    """The model that `name` stands for; `options` are those of the command line."""
    if name.startswith("torchvision/"):
        from vernier_export.torchvision_source import resolve_torchvision

        return resolve_torchvision(name.removeprefix("torchvision/"), options)
    if match := FUNCTION.fullmatch(name):
        return resolve_function(match["place"], match["function"], options)
    from vernier_export.transformers_source import resolve_transformers

    return resolve_transformers(name, options)


def resolve_function(place, name, options):
    """FILE.py:FUNCTION or package.module:FUNCTION: a function that returns (model, inputs)."""
    function = getattr(load_module(place), name, None)
    if not callable(function):
        raise ExportError(f"{place} has no function '{name}'")
    result = function()
    if not isinstance(result, tuple) or len(result) != 2:
        raise ExportError(f"{place}:{name} must return (model, example inputs)")
    model, example = result
    if not isinstance(model, torch.nn.Module):
        raise ExportError(f"expected a torch.nn.Module, found {type(model).__name__}")
    by_keyword = isinstance(example, dict)
    inputs = dict(example) if by_keyword else named_by_signature(model, example)
    return Source(model, inputs, by_keyword, task=options.task or "")


def load_module(place):
    if not place.endswith(".py"):
        sys.path.insert(0, "")  # a package in the current folder, as `python -m` finds it
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise ExportError(f"{first_line(error)}; run it in the folder of the package") from error
    path = Path(place)
    if not path.is_file():
        raise ExportError(f"{place}: no such file")
    sys.path.insert(0, str(path.resolve().parent))  # it may import its neighbours
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def named_by_signature(model, example):
    values = list(example) if isinstance(example, (tuple, list)) else [example]
    names = [
        name
        for name, parameter in inspect.signature(model.forward).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    names += [f"input_{i}" for i in range(len(names), len(values))]  # those of *args
    return dict(zip(names, values))
