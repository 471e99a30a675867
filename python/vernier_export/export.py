"""One export, from the source to the folder."""

import warnings

import torch

from vernier_export import axes, dynamo, onnx_file
from vernier_export.errors import ExportError, first_line
from vernier_export.folder import complete
from vernier_export.sidecar import describe, write_sidecar
from vernier_export.source import resolve
from vernier_export.tracing import Frozen, Trace


def export(options, say):
    """Writes the folder; `say(kind, message)` tells of notes and warnings."""
    warnings.simplefilter("ignore")  # from third-party code; the export is checked by running it
    write = {"torchscript": write_traced, "dynamo": dynamo.write}[chosen_exporter(options)]
    source = resolve_source(options)
    complaints = prepare(source)
    if source.weights.startswith("random"):
        say("note", f"{options.source} has random weights ({source.weights.split(', ')[1]})")
    symbols = axes.parse_dynamic(options.dynamic, source.inputs)
    torch.manual_seed(options.seed)
    with complete(options.output) as folder:
        described = write(folder, options, source, symbols)
        complaints += described.pop("warnings")
        for complaint in complaints:
            say("warning", complaint)
        if source.processor is not None:
            source.processor.save_pretrained(folder)
        write_sidecar(folder / "model.json", describe(options, source, complaints, **described))


def chosen_exporter(options):
    if options.exporter == "dynamo" and (not dynamo.is_there() or options.instrument):
        raise ExportError(
            "--exporter dynamo: --instrument needs the other exporter"
            if options.instrument
            else f"--exporter dynamo: {dynamo.what_is_missing()}"
        )
    default = "dynamo" if dynamo.is_there() and not options.instrument else "torchscript"
    return options.exporter or default


def write_traced(folder, options, source, symbols):
    """model.pt and model.onnx, from a trace."""
    opset = options.opset or onnx_file.newest_opset()
    trace = Trace(source)
    complaints = check(trace, options.allow_frozen)
    dynamic, frozen = trace.dynamic(symbols)
    names = [name for name, _ in trace.outputs]
    trace.module.save(str(folder / "model.pt"))
    onnx_file.write_onnx(folder / "model.onnx", source, names, dynamic, opset)
    leaves = None
    if options.instrument:
        layers = folder / "model.layers.onnx"
        leaves = onnx_file.write_layers(layers, source, names, dynamic, opset)
    return {
        "outputs": trace.outputs,
        "dynamic": dynamic,
        "opset": opset,
        "leaves": leaves,
        "warnings": complaints + frozen,
    }


def check(trace, allow_frozen):
    try:
        trace.check_values()
    except Frozen as error:
        if allow_frozen:
            return [str(error)]
        raise ExportError(
            f"{error}; rewrite what depends on values, or pass --allow-frozen to export it as it is"
        ) from error
    return []


def resolve_source(options):
    try:
        source = resolve(options.source, options)
    except ExportError:
        raise
    except Exception as error:  # the user's model code may raise anything
        raise ExportError(f"{type(error).__name__}: {first_line(error)}") from error
    if source.inputs is None:
        raise ExportError("it has no example inputs; write a function that returns (model, inputs)")
    for name, example in source.inputs.items():
        if not isinstance(example, torch.Tensor):
            raise ExportError(
                f"example input '{name}' is no tensor but {type(example).__name__}; "
                "wrap the model in one that takes tensors"
            )
    return source


def prepare(source):
    """Eval mode, on the CPU, in float32. Returns what deserves a warning."""
    complaints = []
    if source.model.training and any(
        isinstance(module, (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd))
        for module in source.model.modules()
    ):
        complaints.append("the model was in training mode; it is exported in eval mode")
    source.model.eval().cpu().float()
    source.inputs = {
        name: (each.float() if each.is_floating_point() else each).detach().cpu()
        for name, each in source.inputs.items()
    }
    return complaints
