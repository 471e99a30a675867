"""model.json: what Vernier wants to know of an exported model."""

import json
import platform
from importlib.metadata import PackageNotFoundError, version


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


def describe(name, source, outputs, dynamic, opset, complaints, leaves):
    sidecar = {
        "schema_version": 1,
        "source": name,
        "task": source.task,
        "weights": source.weights,
        "inputs": [spec(key, tensor, dynamic) for key, tensor in source.inputs.items()],
        "outputs": [spec(key, tensor, dynamic) for key, tensor in outputs],
        "opset": opset,
        "versions": versions(["torch", *source.packages]),
        "preprocessing": source.preprocessing,
        "leaves": leaves,
        "warnings": complaints,
    }
    return {key: value for key, value in sidecar.items() if value}


def write_sidecar(path, sidecar):
    path.write_text(json.dumps(sidecar, indent=2) + "\n", encoding="utf-8")
