"""model.json: what Vernier wants to know of an exported model."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def spec(name, tensor, dynamic):
    symbols = dynamic.get(name, {})
    return {
        "name": name,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": [symbols.get(axis, size) for axis, size in enumerate(tensor.shape)],
    }


def versions(packages):
    """Of the installed packages among these, without importing them."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found


def reference_of(options):
    """The source itself, as it is found from any folder."""
    source = options.source
    place, colon, function = source.rpartition(":")
    if colon and place.endswith(".py"):
        source = f"{Path(place).resolve()}:{function}"
    elif (folder := Path(source.removeprefix("hf:"))).is_dir():
        source = f"hf:{folder.resolve()}"
    elif source.startswith("torchvision/"):
        source = source.replace("/", ":", 1)
    elif ":" not in source:
        source = f"hf:{source}"
    weights = str(Path(options.weights).resolve()) if options.weights else ""
    return {"source": source, "weights": weights, "seed": options.seed}


def describe(
    options, source, complaints, outputs, dynamic, opset, leaves=None, reference=False, tensors=None
):
    sidecar = {
        "schema_version": 1,
        "source": options.source,
        "reference": reference_of(options) if reference else None,
        "task": source.task,
        "weights": source.weights,
        "inputs": [spec(key, tensor, dynamic) for key, tensor in source.inputs.items()],
        "outputs": [spec(key, tensor, dynamic) for key, tensor in outputs],
        "opset": opset,
        "versions": versions(["torch", *source.packages]),
        "preprocessing": source.preprocessing,
        "leaves": leaves,
        "tensors": tensors,
        "warnings": complaints,
    }
    return {key: value for key, value in sidecar.items() if value}


def write_sidecar(path, sidecar):
    path.write_text(json.dumps(sidecar, indent=2) + "\n", encoding="utf-8")
