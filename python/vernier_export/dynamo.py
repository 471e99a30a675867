"""Writes a model as ONNX with the exporter of PyTorch 2, which traces no values: what depends on them
is an error. The reference is the source itself."""

import contextlib
import importlib.util
import io
import os
import re

import torch

from vernier_export import axes
from vernier_export.calling import flat, run
from vernier_export.errors import ExportError, first_line

FIRST = (2, 5)
LARGEST_FILE = 1 << 30  # bytes of weights inside the file; protobuf's limit is twice that


def what_is_missing():
    """Why this exporter cannot be used; None if it can."""
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < FIRST:
        return f"PyTorch {torch.__version__} has none; it needs 2.5"
    if importlib.util.find_spec("onnxscript") is None:
        return "it needs the package onnxscript: install it, or pass --exporter torchscript"
    return None


def is_there():
    return what_is_missing() is None


def write(folder, options, source, symbols):
    try:
        outputs = run(source, list(source.inputs.values()))
    except Exception as error:
        raise ExportError(f"does not run on the example inputs: {first_line(error)}") from error
    if not outputs:
        raise ExportError("it returns no tensor")
    moving, complaints = moving_axes(source, outputs, symbols)
    path = folder / "model.onnx"
    try:
        graph = write_onnx(path, source, outputs, moving, options.opset)
    except ExportError as error:
        if symbols or not moving:
            raise
        complaints.append(f"the batch is fixed: {error}")
        moving = {}
        graph = write_onnx(path, source, outputs, moving, options.opset)
    return {
        "outputs": outputs,
        "dynamic": moving,
        "opset": graph.opset_imports[""],
        "tensors": tensor_origins(graph),
        "reference": True,
        "warnings": complaints,
    }


def moving_axes(source, outputs, symbols):
    """({input or output: {axis: symbol}}, warnings): those that the model itself lets move."""
    found, complaints = {}, []
    batch = axes.batch_axes(source.inputs, sum(symbols.values(), []))
    for symbol, places in {axes.BATCH: batch, **symbols}.items():
        if not places:
            continue
        inputs = axes.resized(source.inputs, places, symbol)
        try:
            changed = axes.changed_axes(outputs, run(source, list(inputs.values())))
        except Exception as error:
            if symbol != axes.BATCH:
                raise ExportError(f"--dynamic: {symbol} cannot be: {first_line(error)}") from error
            complaints.append(f"the batch is fixed: {first_line(error)}")
            continue
        for name, axis in places + (changed or []):
            found.setdefault(name, {}).setdefault(axis, symbol)
    return found, complaints


def write_onnx(path, source, outputs, moving, opset):
    """Returns the model that it writes. The example has a batch of two: one of one would be taken for a constant."""
    batch = [
        (name, axis)
        for name in source.inputs
        for axis, symbol in moving.get(name, {}).items()
        if symbol == axes.BATCH
    ]
    inputs = axes.resized(source.inputs, batch, axes.BATCH)
    symbols = {symbol for places in moving.values() for symbol in places.values()}
    dims = {symbol: torch.export.Dim(symbol) for symbol in symbols}
    shapes = tuple(
        {axis: dims[symbol] for axis, symbol in moving.get(name, {}).items()} for name in inputs
    )
    weights = sum(each.numel() * each.element_size() for each in source.model.parameters())
    try:
        with flat(source) as model, contextlib.redirect_stdout(io.StringIO()):
            program = torch.onnx.export(
                model,
                tuple(inputs.values()),
                input_names=list(inputs),
                output_names=[name for name, _ in outputs],
                dynamic_shapes={"tensors": shapes} if dims else None,
                opset_version=opset or None,
                dynamo=True,
                verbose=False,
            )
            program.save(str(path), external_data=weights > LARGEST_FILE)
    except Exception as error:
        raise ExportError(f"cannot be written as ONNX: {cause_of(error)}") from error
    return program.model


def tensor_origins(model):
    """[{name, module, source}] of the tensors that come from a module: optimisers drop this metadata."""
    origins = []
    for node in model.graph:
        scopes = re.findall(r"'([^']*)'", node.metadata_props.get("pkg.torch.onnx.name_scopes", ""))
        module = scopes[-2].replace("@", "_") if len(scopes) > 1 else ""
        source = innermost_line(node.metadata_props.get("pkg.torch.onnx.stack_trace", ""))
        if module:
            origins += [{"name": each.name, "module": module, "source": source} for each in node.outputs]
    return origins


def innermost_line(trace):
    """"modeling.py:12" from a stack trace: the last call that is not PyTorch's own."""
    calls = re.findall(r'File "([^"<]+)", line (\d+)', trace)
    own = [call for call in calls if not re.search(r"(^|-packages/)torch/", call[0])]
    return f"{os.path.basename(own[-1][0])}:{own[-1][1]}" if own else ""


def cause_of(error):
    """What PyTorch says first, below the summary that its exporter wraps it in."""
    while error.__cause__ is not None:
        error = error.__cause__
    return first_line(error)
