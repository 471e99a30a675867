"""Models of this process as hosts: each has describe(request, inputs), run(inputs, show, give) and
parameters(give, names), as vernier_host's do. A host is made for every time a model is opened."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from vernier import _arrays, _vernier
from vernier._vernier import Error

Message = dict[str, Any]
Give = Callable[[Message, int, int], None]
Inputs = list[tuple[Message, memoryview]]


def module_of(value: Any) -> Any:
    """The torch.nn.Module that it is, or whose method it is; None without PyTorch or for others."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    value = getattr(value, "__self__", value)
    return value if isinstance(value, torch.nn.Module) else None


def is_session(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("get_inputs", "get_outputs", "run", "get_providers"))


def name_of(value: Any) -> str:
    value = getattr(value, "__self__", value) if module_of(value) is not None else value
    return str(getattr(value, "__name__", type(value).__name__)).strip("<>")


def model(value: Any, open_attention: bool = False) -> _vernier.Model | _vernier.Arrays:
    """What a command can be given for an object."""
    if isinstance(value, Mapping):
        return _arrays.named("arrays", value)
    host: Callable[[], Any]
    if (module := module_of(value)) is not None:
        from vernier._torch import module_host

        host = lambda: module_host(module, open_attention)  # noqa: E731
    elif is_session(value):
        host = lambda: SessionHost(value)  # noqa: E731
    elif hasattr(value, "run"):
        host = lambda: RunnerHost(value)  # noqa: E731
    elif callable(value):
        host = lambda: CallableHost(value)  # noqa: E731
    else:
        raise Error(
            f"[model] {type(value).__name__}: expected a path, a torch.nn.Module, an "
            "InferenceSession, a callable, an object with run(inputs, observer) or arrays by name"
        )
    return _vernier.Model(name_of(value), host)


def onnx_path(value: Any, argument: str) -> str:
    """The file of a model that must be ONNX's: a path, or a session that was made from one."""
    if _arrays.is_path(value):
        return str(os.fspath(value))
    path = getattr(value, "_model_path", None) if is_session(value) else None
    if path:
        return str(os.fspath(path))
    raise Error(
        f"[model] {type(value).__name__}: {argument} must be an .onnx model here, by its path or as an "
        "InferenceSession that was made from a file"
    )


class NumpyHost:
    """A model on numpy arrays: `call` takes them by name, and may show others."""

    def call(self, inputs: dict[str, Any], show: Callable[[str, Any], None] | None) -> Any:
        raise NotImplementedError

    def described_inputs(self, messages: list[Message]) -> list[Message]:
        return [{"name": each["name"], "dtype": each["dtype"]} for each in messages]

    def versions(self) -> dict[str, str]:
        return {"python": sys.version.split()[0]}

    def describe(self, request: Message, inputs: Inputs) -> Message:
        if request["precision"] == "float64":
            raise Error("only a PyTorch model can be run in float64; leave truth out")
        self.inputs = self.described_inputs([message for message, _ in inputs])
        self.wanted: list[str] = request["outputs"]
        watch = request["watch"] != "nothing"
        layers: list[Message] = []

        def show(name: str, array: Any) -> None:
            layers.append({"name": name})

        result = self.call(arrays_of(inputs), show if watch else None)
        outputs = [spec_of(name, each) for name, each in self.named_outputs(result)]
        if not outputs:
            raise Error("it returns no array")
        return {
            "inputs": self.inputs,
            "outputs": outputs,
            "outputs_are_positional": self.positional,
            "layers": layers,
            "versions": self.versions(),
        }

    def run(self, inputs: Inputs, show: Give | None, give: Give) -> None:
        def send(name: str, array: Any) -> None:
            assert show is not None
            show(*message_of(name, array))

        result = self.call(arrays_of(inputs), send if show else None)
        for name, array in self.named_outputs(result):
            give(*message_of(name, array))

    def parameters(self, give: Give, names: Sequence[str] | None) -> None:
        """It has none that can be seen."""

    def named_outputs(self, result: Any) -> Iterator[tuple[str, Any]]:
        """By their own names, else by those of the candidate's outputs in turn."""
        self.positional = not isinstance(result, Mapping)
        if isinstance(result, Mapping):
            yield from ((str(name), each) for name, each in result.items())
            return
        several = isinstance(result, Sequence) and not _arrays.is_array(result)
        values = list(result) if several else [result]
        alike = len(values) == len(self.wanted)
        for i, each in enumerate(values):
            yield self.wanted[i] if alike else f"output_{i}", each


class CallableHost(NumpyHost):
    """A function: its arguments are named as the inputs are, or are given in turn."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def call(self, inputs: dict[str, Any], show: Callable[[str, Any], None] | None) -> Any:
        if self.takes(inputs):
            return self.function(**inputs)
        return self.function(*inputs.values())

    def takes(self, inputs: dict[str, Any]) -> bool:
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return False
        names = {each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY}
        return set(inputs) <= names


class RunnerHost(NumpyHost):
    """An object with run(inputs, observer): arrays by name in and out; observer(name, array) is called
    with what the model computes on the way, and is None when nobody looks."""

    def __init__(self, runner: Any) -> None:
        self.runner = runner

    def call(self, inputs: dict[str, Any], show: Callable[[str, Any], None] | None) -> Any:
        return self.runner.run(inputs, show)


class SessionHost(NumpyHost):
    """An onnxruntime.InferenceSession, as it is: its provider, its options, its version."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def described_inputs(self, messages: list[Message]) -> list[Message]:
        inputs = []
        for each in self.session.get_inputs():
            spec = {"name": each.name, "dtype": DTYPES.get(each.type, each.type)}
            if all(isinstance(size, int) for size in each.shape):
                spec["shape"] = each.shape
            inputs.append(spec)
        return inputs

    def versions(self) -> dict[str, str]:
        onnxruntime = sys.modules["onnxruntime"]
        provider = self.session.get_providers()[0]
        return {**super().versions(), "onnxruntime": onnxruntime.__version__, provider: "first"}

    def call(self, inputs: dict[str, Any], show: Callable[[str, Any], None] | None) -> Any:
        names = [each.name for each in self.session.get_outputs()]
        wanted = [each.name for each in self.session.get_inputs()]
        if not set(wanted) <= set(inputs):
            inputs = dict(zip(wanted, inputs.values()))
        values = self.session.run(names, {name: inputs[name] for name in wanted})
        return dict(zip(names, values))


# By onnxruntime.NodeArg.type.
DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    **{
        f"tensor({name})": name
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
    },
}


def arrays_of(inputs: Inputs) -> dict[str, Any]:
    """Views of the library's own memory: nobody may write to them, or keep them."""
    import numpy

    return {
        message["name"]: numpy.frombuffer(data, dtype=message["dtype"]).reshape(message["shape"])
        for message, data in inputs
    }


def spec_of(name: str, value: Any) -> Message:
    message = message_of(name, value)[0]
    return {key: message[key] for key in ("name", "dtype", "shape")}


def message_of(name: str, value: Any) -> tuple[Message, int, int]:
    """An array's message, address and number of bytes. Whoever calls keeps the array meanwhile."""
    import numpy

    value = _arrays.plain(value)
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":  # numpy has no bfloat16
        value = value.float()
    array = numpy.asarray(value)
    if array.dtype.kind not in "fiub":
        raise Error(f"'{name}' has {array.dtype} elements; only numbers are compared")
    contiguous = numpy.ascontiguousarray(array)
    message = {
        "name": name,
        "dtype": contiguous.dtype.name,
        "shape": list(array.shape),
        "array": contiguous,  # keeps the memory alive with the message
    }
    return message, contiguous.__array_interface__["data"][0], contiguous.nbytes
