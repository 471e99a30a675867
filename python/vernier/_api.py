"""The questions, each of which is a command run in this process."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from vernier import _arrays, _models, _vernier
from vernier._results import CheckResult, CompareResult, DebugResult, LayersResult, TaskResult
from vernier._vernier import Error, Report

# A path; or an nn.Module, a callable, an InferenceSession, an object with run(), arrays by name.
ModelLike = Any
# A path; arrays by name or one array, whose leading axis is the samples; or a sequence of samples.
InputsLike = Any
# progress(label, done, total), which may return False to stop; or True for a tqdm progress bar.
Progress = Union[bool, Callable[[str, int, int], object], None]


def compare(
    reference: ModelLike,
    candidate: ModelLike,
    inputs: InputsLike = None,
    *,
    samples: int | str | None = None,
    fail_if: str | Sequence[str] = (),
    progress: Progress = None,
    **options: Any,
) -> CompareResult:
    """How far are the outputs apart? `vernier eval`, on identical inputs.

    Without inputs the models are fed such as they were made for; 100 samples unless `samples` says
    otherwise. Without `fail_if` the limits are those of the candidate's precision.

    >>> result = compare("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz", samples=8)
    >>> result.run.samples
    8
    >>> compare("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz", fail_if="sqnr_db<60").passed
    False
    """
    call = Call("eval", options)
    call.model("reference", reference)
    call.model("model", candidate)
    call.inputs(inputs)
    call.option("samples", samples)
    call.option("fail_if", fail_if)
    return CompareResult(call.run(progress))


def debug_quantization(
    float_model: ModelLike,
    quant_model: ModelLike,
    inputs: InputsLike = None,
    *,
    samples: int | str | None = None,
    model_id: str | None = None,
    task: str | None = None,
    progress: Progress = None,
    **options: Any,
) -> DebugResult:
    """Which tensors and weights did quantization damage? `vernier debug`. Both are ONNX models.
    `model_id` and `task` say how the images of a `dataset` are prepared; inputs are taken as they are.

    >>> result = debug_quantization("mnist_cnn.onnx", "mnist_cnn.int8.onnx", "mnist_inputs.npz")
    >>> sorted(result)
    ['activations', 'model_outputs', 'summary', 'weights']
    >>> result["summary"]["local"]["count"]
    16
    """
    call = Call("debug", options)
    call.option("reference", _models.onnx_path(float_model, "float_model"))
    call.option("model", _models.onnx_path(quant_model, "quant_model"))
    call.inputs(inputs)
    call.option("samples", samples)
    if inputs is None:
        call.option("model_id", model_id)
    call.option("task", task)
    return DebugResult(call.run(progress))


def layers(
    reference: ModelLike,
    candidate: ModelLike,
    inputs: InputsLike = None,
    *,
    samples: int | str | None = None,
    tolerance: float | None = None,
    ops: bool = False,
    progress: Progress = None,
    **options: Any,
) -> LayersResult:
    """At which layer do they start to differ, and why? `vernier layers`. The candidate is ONNX, or
    recorded as the reference is; with `ops` every operator of a PyTorch model is compared.

    >>> result = layers("mnist_cnn.onnx", "mnist_cnn.onnx")
    >>> result.passed, result.drift_origin
    (True, None)
    """
    call = Call("layers", options)
    call.model("reference", reference)
    if isinstance(candidate, Mapping):
        call.model("model", candidate)
    else:
        call.option("model", _models.onnx_path(candidate, "the candidate"))
    call.inputs(inputs)
    call.option("samples", samples)
    call.option("tolerance", tolerance)
    call.option("ops", ops)
    return LayersResult(call.run(progress))


def check(
    model: ModelLike,
    *,
    reference: ModelLike = None,
    inputs: InputsLike = None,
    strict: bool = False,
    **options: Any,
) -> CheckResult:
    """What is wrong with this model? `vernier check`. It is ONNX.

    >>> check("mnist_cnn.onnx").passed
    True
    """
    call = Call("check", options)
    call.option("model", _models.onnx_path(model, "the model"))
    if reference is not None:
        call.model("reference", reference)
    call.inputs(inputs)
    call.option("strict", strict)
    return CheckResult(call.run(None))


def evaluate(
    candidate: ModelLike,
    *,
    task: str,
    dataset: str | os.PathLike[str],
    reference: ModelLike = None,
    samples: int | str | None = None,
    fail_if: str | Sequence[str] = (),
    progress: Progress = None,
    **options: Any,
) -> TaskResult:
    """How well do both do their task on labelled data? `vernier eval --task`. Without a reference the
    candidate is scored alone.

    >>> result = evaluate("mnist_cnn.onnx", task="image-classification", dataset="mnist_labelled.npz",
    ...                   samples=200, k=1)
    >>> result.metrics["top1_accuracy"].candidate > 90
    True
    """
    call = Call("eval", options)
    call.option("model", _models.onnx_path(candidate, "the candidate"))
    call.option("task", task)
    call.option("dataset", dataset)
    if reference is not None:
        call.model("reference", reference)
    call.option("samples", samples)
    call.option("fail_if", fail_if)
    return TaskResult(call.run(progress))


def providers() -> list[str]:
    """The execution providers of the ONNX Runtime that models run on, as `ep` takes them.

    >>> "cpu" in providers()
    True
    """
    return _vernier.providers()


# Command-line options that Python does not accept, and what to use instead.
NOT_HERE = {
    "format": "results are objects; see to_json(), to_markdown(), to_html() and to_dataframe()",
    "output": "the result is returned; write it with save()",
    "help": "help(vernier), or `vernier COMMAND --help-all` for the options",
    "help_all": "help(vernier), or `vernier COMMAND --help-all` for the options",
    "shard": "shards are measured by the command, or by vernier.distributed",
}


class Call:
    """A command line, and what must live until it has been run."""

    def __init__(self, command: str, options: Mapping[str, Any]) -> None:
        for name in options:
            if name.strip("_") in NOT_HERE:
                raise Error(f"[{command}] {name}: {NOT_HERE[name.strip('_')]}")
        # Tensors are recorded only for HTML pages.
        self.arguments = [command, "--format=html" if "detail" in options else "--format=json"]
        self.kept: list[_vernier.Model | _vernier.Arrays] = []
        self.open_attention = bool(options.get("open_attention"))
        for name, value in options.items():
            self.option(name, value)

    def option(self, name: str, value: Any) -> None:
        """--name=value; of True the flag alone, of several one for each, of a dictionary KEY=VALUE."""
        flag = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            return
        if value is True:
            self.arguments.append(flag)
        elif isinstance(value, Mapping):
            self.arguments += [f"{flag}={key}={text(each)}" for key, each in value.items()]
        elif isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
            self.arguments += [f"{flag}={each}" for each in value]
        elif isinstance(value, (list, tuple)) and name == "shape":
            self.arguments.append(f"{flag}={text(value)}")
        elif isinstance(value, (list, tuple)):
            self.arguments.append(f"{flag}={','.join(map(text, value))}")
        else:
            self.arguments.append(f"{flag}={text(value)}")

    def model(self, option: str, value: ModelLike) -> None:
        if _arrays.is_path(value):
            return self.option(option, os.fspath(value))
        self.keep(option, _models.model(value, self.open_attention))

    def inputs(self, value: InputsLike) -> None:
        if value is None:
            return
        if _arrays.is_path(value):
            return self.option("input_data", os.fspath(value))
        self.keep("input_data", _arrays.named("inputs", value))

    def keep(self, option: str, value: _vernier.Model | _vernier.Arrays) -> None:
        self.kept.append(value)
        self.option(option, value.path)

    def run(self, progress: Progress) -> Report:
        models = [each for each in self.kept if isinstance(each, _vernier.Model)]
        with telling(progress) as tell:
            try:
                report = _vernier.run(self.arguments, tell, models)
            except Error as error:
                causes = [each.failure for each in models if each.failure is not None]
                raise error from (causes[0] if causes else None)
        for message in report.messages:
            warnings.warn(message.removeprefix("warning: "), stacklevel=3)
        return report


def text(value: Any) -> str:
    """A value as the command line writes it; a shape as 1x3x224x224."""
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


@contextlib.contextmanager
def telling(progress: Progress) -> Any:
    """What the library calls: the caller's function, or one that moves a bar."""
    if progress is not True:
        yield progress or None
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise Error("[progress] tqdm is not installed; pip install tqdm, or pass a function") from error
    with tqdm(unit=" samples") as bar:

        def tell(label: str, done: int, total: int) -> None:
            bar.set_description(label, refresh=False)
            bar.total = total
            bar.update(done - bar.n)

        yield tell
