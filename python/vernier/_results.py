"""What the questions are answered with: frozen objects over the command's own JSON."""

from __future__ import annotations

import json
import os
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from vernier._notebook import essentials
from vernier._vernier import Error, Report

T = TypeVar("T", bound="Record")


class Record:
    """An object of the JSON: its keys are attributes. Numbers that JSON cannot hold are floats."""

    _key = "name"  # key that identifies a record in a list
    _data: dict[str, Any]

    def __init__(self, data: dict[str, Any]) -> None:
        object.__setattr__(self, "_data", data)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self.__dict__["_data"][name]
        except KeyError:
            kind = type(self).__name__
            raise AttributeError(f"{kind} has no '{name}'; it has {', '.join(self)}") from None
        return converted(value, hints_of(type(self)).get(name, Any))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._data == other._data

    def __hash__(self) -> int:
        return hash(json.dumps(self._data, sort_keys=True))

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in self._data.items())
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._data,)

    def to_dict(self) -> dict[str, Any]:
        """A copy of the JSON's object."""
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy


class Rows(Sequence[T], Generic[T]):
    """Several records, by place or by name."""

    def __init__(self, rows: Sequence[T]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Rows[T]: ...
    def __getitem__(self, key: int | str | slice) -> T | Rows[T]:
        if isinstance(key, slice):
            return Rows(self._rows[key])
        if isinstance(key, int):
            return self._rows[key]
        for row in self._rows:
            if row._data.get(row._key) == key:
                return row
        raise KeyError(f"{key}: there is {', '.join(self.names()) or 'none'}")

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return repr(list(self._rows))

    def names(self) -> list[str]:
        return [str(row._data.get(row._key)) for row in self._rows]


_hints: dict[type, dict[str, Any]] = {}


def hints_of(record: type) -> dict[str, Any]:
    if record not in _hints:
        _hints[record] = typing.get_type_hints(record)
    return _hints[record]


def converted(value: Any, hint: Any) -> Any:
    """The JSON's value as the attribute's type says; unknown ones as records and tuples."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [each for each in typing.get_args(hint) if each is not type(None)]
        return None if value is None else converted(value, kinds[0])
    if origin is Rows:
        (kind,) = typing.get_args(hint)
        return Rows([kind(each) for each in value])
    if origin is tuple:
        return tuple(converted(each, typing.get_args(hint)[0]) for each in value)
    if hint is float:
        return float(value)
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint(value)
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return tuple(converted(each, Any) for each in value)
    return value


class Statistics(Record):
    """Of a metric over the samples, without those that are not finite."""

    count: int
    mean: float
    std: float
    min: float
    max: float


class Failure(Record):
    subject: str
    group: str
    metric: str
    value: float
    limit: str | None
    kind: str


class Doubt(Record):
    kind: str
    subject: str
    value: float
    limit: float


class Verdict(Record):
    """What the numbers mean: outcome is pass, fail or inconclusive; None where nothing was judged."""

    outcome: str | None
    failures: tuple[Failure, ...]
    doubts: tuple[Doubt, ...]
    limits: tuple[str, ...]
    reason: str  # the report's last line


class Run(Record):
    """What was run, and on what."""

    candidate: str
    reference: str
    task: str
    precision: str
    device: str
    inputs: str
    samples: int


class Output(Record):
    """A pair of outputs over the samples: `output.sqnr_db.mean`."""

    name: str
    status: str
    samples: int
    failures: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        metrics = self.__dict__["_data"].get("metrics", {})
        if f"{name}_mean" in metrics:
            parts = {part: metrics[f"{name}_{part}"] for part in ("mean", "std", "min", "max")}
            return Statistics({"count": self._data["samples"], **parts})
        return super().__getattr__(name)

    @property
    def passed(self) -> bool:
        return bool(self._data["pass"])

    def metric_names(self) -> list[str]:
        """Those that were measured."""
        names = self._data.get("metrics", {})
        return [name.removesuffix("_mean") for name in names if name.endswith("_mean")]


class Layer(Record):
    """A layer of the reference, and the candidate's tensor."""

    _key = "layer"
    layer: str
    type: str | None
    tensor: str | None
    aligned_by: str
    max_abs_diff: float | None
    mean_abs_diff: float | None
    sqnr_db: float | None
    cosine_similarity: float | None
    introduced_max_abs_diff: float | None
    exceeds_tol: bool
    layout: str | None
    cause: str
    detail: str


class Finding(Record):
    _key = "id"
    id: str
    severity: str
    evidence: str
    remedy: str


class Activation(Record):
    _key = "tensor_name"
    tensor_name: str
    local_sqnr_db: float | None
    cumulative_sqnr_db: float | None
    introduced_sqnr_db: float | None
    verdict: str


class Weight(Record):
    _key = "weight_name"
    weight_name: str
    weight_sqnr_db: float | None


class DebugOutput(Record):
    _key = "output_name"
    output_name: str
    status: str
    cumulative_sqnr_db: float | None


class Score(Record):
    """A metric of a task, in percent."""

    name: str
    candidate: float | None
    reference: float | None
    delta: float | None


class KeptReport:
    """What a Report tells, without the library's objects: results are copied and pickled with it."""

    def __init__(self, report: Report | KeptReport) -> None:
        self.exit_code: int = report.exit_code
        self.json: str = report.json
        self.conclusion: str = report.conclusion
        self._forms = report.text(), report.markdown(), report.page(), report.document()

    def text(self) -> str:
        return self._forms[0]

    def markdown(self) -> str:
        return self._forms[1]

    def page(self) -> str:
        return self._forms[2]

    def document(self) -> str:
        return self._forms[3]


class Result(Record):
    """A report. In a notebook it shows itself; `print` shows it as the terminal does."""

    schema_version: int
    command: str
    run: Run
    interrupted: bool
    warnings: tuple[str, ...]

    def __init__(self, report: Report | KeptReport) -> None:
        super().__init__(json.loads(report.json))
        object.__setattr__(self, "_report", report)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (KeptReport(self._report),)

    @property
    def passed(self) -> bool | None:
        """Whether the verdict is PASS: neither FAIL nor INCONCLUSIVE. None if nothing was judged, as
        in a task without reference and limits."""
        return None if "pass" not in self._data else bool(self._data["pass"])

    @property
    def exit_code(self) -> int:
        """The command's: 0 pass or nothing judged, 1 fail, 3 inconclusive."""
        return int(self._report.exit_code)

    @property
    def verdict(self) -> Verdict:
        """The outcome and its reason in a line, with the limits, failures and doubts behind it."""
        nothing: dict[str, Any] = {"outcome": None, "failures": [], "doubts": [], "limits": []}
        return Verdict({**self._data.get("verdict", nothing), "reason": self._report.conclusion})

    def to_json(self) -> str:
        """The bytes that the command writes with -f json."""
        return str(self._report.json)

    def to_markdown(self) -> str:
        """The report in Markdown, for a pull request."""
        return str(self._report.markdown())

    def to_html(self) -> str:
        """The page that the command writes with -f html: one file that needs no network. With
        `detail="worst:20"` among the options it shows tensors as well."""
        return str(self._report.page())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report in the format that the file's ending says: .json, .md, .html or .txt."""
        writers = {".json": self.to_json, ".md": self.to_markdown, ".html": self.to_html, ".txt": self.__str__}
        ending = os.path.splitext(os.fspath(path))[1]
        if ending not in writers:
            raise Error(f"[output] {os.fspath(path)}: expected {', '.join(writers)}")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(writers[ending]())

    def rows(self) -> list[dict[str, Any]]:
        """The result as a table: what to_dataframe() holds."""
        raise NotImplementedError

    def to_dataframe(self) -> Any:
        """The result as a pandas.DataFrame."""
        try:
            import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError as error:
            raise Error("[dataframe] pandas is not installed; pip install pandas") from error
        return pandas.DataFrame(self.rows())

    def __str__(self) -> str:
        return str(self._report.text())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict.reason}>"

    def _repr_html_(self) -> str:
        return essentials(json.loads(self._report.document()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())


class CompareResult(Result):
    """How far the outputs are apart."""

    outputs: Rows[Output]
    exact_outputs: Rows[Output]
    before_activation: Rows[Output]
    runtime_loss_db: float | None

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"output": output.name, "metric": name, **numbers(getattr(output, name)._data)}
            for output in self.outputs
            for name in output.metric_names()
        ]


class LayersResult(Result):
    """Where an export starts to differ, and why."""

    layers: Rows[Layer]
    model_outputs: Rows[Layer]
    layers_total: int
    layers_exceeding: int
    tolerance: float

    @property
    def drift_origin(self) -> Layer | None:
        """The first layer, in the order of execution, that is out of tolerance."""
        name = self._data["drift_origin"]
        found = [each for each in (*self.layers, *self.model_outputs) if each.layer == name]
        return found[0] if found else None

    def rows(self) -> list[dict[str, Any]]:
        return [numbers(each._data) for each in self.layers]


class CheckResult(Result):
    """What is wrong with a model."""

    findings: Rows[Finding]

    def rows(self) -> list[dict[str, Any]]:
        return [
            {**each._data, "subject": each._data["subject"]["name"]} for each in self.findings
        ]


class TaskResult(Result):
    """How well both models do their task."""

    metrics: Rows[Score]

    def rows(self) -> list[dict[str, Any]]:
        return [numbers(each._data) for each in self.metrics]


class DebugResult(Result, Mapping[str, Any]):
    """What quantization did to every tensor and weight. As a mapping it holds activations, weights,
    model_outputs and summary; all else is attributes."""

    activations: Rows[Activation]
    weights: Rows[Weight]
    model_outputs: Rows[DebugOutput]
    conclusion: str
    keep_in_float: tuple[str, ...]
    runtime_loss_db: float | None

    _tables = {
        "activations": ("tensor_name", "local_sqnr_db", "cumulative_sqnr_db"),
        "weights": ("weight_name", "weight_sqnr_db"),
        "model_outputs": ("output_name", "cumulative_sqnr_db"),
    }
    _statistics = ("count", "mean", "std", "min", "max")

    def __getitem__(self, key: str) -> Any:
        if key in self._tables:
            return [picked(row, self._tables[key]) for row in self._data[key]]
        if key == "summary":
            return {
                name: picked(each, self._statistics) for name, each in self._data["summary"].items()
            }
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._tables, "summary"))

    def __len__(self) -> int:
        return len(self._tables) + 1

    __eq__ = Result.__eq__
    __hash__ = Result.__hash__

    def rows(self) -> list[dict[str, Any]]:
        return [numbers(each._data) for each in self.activations]


def number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf", "nan") else value


def numbers(data: dict[str, Any]) -> dict[str, Any]:
    return {key: number(value) for key, value in data.items()}


def picked(data: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: number(data[key]) for key in keys}
