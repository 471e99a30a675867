"""Writes the model as ONNX, plain or with every leaf as an output."""

import inspect
import re

import torch

from vernier_export.calling import flat, run
from vernier_export.errors import ExportError, first_line
from vernier_export.leaves import observed


def newest_opset():
    """The newest opset that the installed exporter writes."""
    constants = torch.onnx._constants
    for name in ("ONNX_TORCHSCRIPT_EXPORTER_MAX_OPSET", "ONNX_MAX_OPSET"):
        if hasattr(constants, name):
            return getattr(constants, name)
    return constants.ONNX_DEFAULT_OPSET


def write_onnx(path, source, output_names, dynamic, opset):
    with flat(source) as model:
        export(model, path, source, output_names, dynamic, opset, do_constant_folding=True)


def write_layers(path, source, output_names, dynamic, opset):
    """One output for each leaf call, after the model's own. Nothing is folded, so that every leaf
    keeps its place. Returns the names of the leaves."""
    with observed(source.model) as seen:
        run(source, list(source.inputs.values()))
    leaves = [name for name, _ in seen]
    clashes = set(leaves) & (set(source.inputs) | set(output_names))
    if clashes:
        raise ExportError(
            f"--instrument: {sorted(clashes)[0]} names a layer and an input or output; rename one"
        )
    names = list(output_names) + leaves
    with flat(source, with_leaves=True) as model:
        export(model, path, source, names, dynamic, opset, do_constant_folding=False)
    return leaves


def export(model, path, source, output_names, dynamic, opset, **options):
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # only the tracing exporter keeps module names
    try:
        torch.onnx.export(
            model,
            tuple(source.inputs.values()),
            str(path),
            input_names=list(source.inputs),
            output_names=list(output_names),
            dynamic_axes=dynamic,
            opset_version=opset,
            **options,
        )
    except Exception as error:
        raise ExportError(reason(error, opset)) from error


def reason(error, opset):
    if operator := re.search(r"operator '?([\w:]+)'?", str(error)):
        return (
            f"operator {operator[1]} has no ONNX form at opset {opset}; try another --opset, or "
            "write that part of the model with other operators"
        )
    return f"cannot be written as ONNX opset {opset}: {first_line(error)}"
