"""The same measurements over a running Ray cluster: a task a shard, a configuration or a row.

    >>> import vernier.distributed                                                      # doctest: +SKIP
    >>> result = vernier.distributed.evaluate("m.int8.onnx", reference="m.onnx", samples=5000)  # doctest: +SKIP

Each task is the program `vernier` of the worker's environment, so a crash is an answer there as everywhere.
Models and data are named by paths that every node sees. A task whose worker or node dies is run again, on
another node if there is one. What is measured is what one run measures, byte for byte.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, Union

from vernier import _arrays, _vernier
from vernier._api import Call, Progress, telling
from vernier._results import CompareResult, DebugResult, LayersResult, Result, TaskResult
from vernier._vernier import Error

R = TypeVar("R", bound=Result)
PathLike = Union[str, "os.PathLike[str]"]

__all__ = ["Configuration", "debug_quantization", "evaluate", "layers", "sweep", "zoo"]


def evaluate(
    candidate: PathLike,
    *,
    reference: PathLike | None = None,
    task: str | None = None,
    dataset: PathLike | None = None,
    inputs: PathLike | None = None,
    samples: int | str | None = None,
    fail_if: str | Sequence[str] = (),
    shards: int | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: Progress = None,
    **options: Any,
) -> CompareResult | TaskResult:
    """`vernier eval` in shards, as many as the cluster has room for unless `shards` says otherwise: with a
    task how well both do it, else how far their outputs are apart. `threads` are those of each task."""
    call = Call("eval", options)
    _path(call, "model", candidate)
    _path(call, "reference", reference)
    _path(call, "dataset", dataset)
    _path(call, "input_data", inputs)
    call.option("task", task)
    call.option("samples", samples)
    call.option("fail_if", fail_if)
    if task is None:
        return _in_shards(call, CompareResult, shards, threads, retries, progress)
    return _in_shards(call, TaskResult, shards, threads, retries, progress)


def debug_quantization(
    float_model: PathLike,
    quant_model: PathLike,
    inputs: PathLike | None = None,
    *,
    samples: int | str | None = None,
    shards: int | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: Progress = None,
    **options: Any,
) -> DebugResult:
    """`vernier debug` in shards."""
    call = Call("debug", options)
    _path(call, "reference", float_model)
    _path(call, "model", quant_model)
    _path(call, "input_data", inputs)
    call.option("samples", samples)
    return _in_shards(call, DebugResult, shards, threads, retries, progress)


def layers(
    reference: PathLike,
    candidate: PathLike,
    inputs: PathLike | None = None,
    *,
    samples: int | str | None = None,
    shards: int | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: Progress = None,
    **options: Any,
) -> LayersResult:
    """`vernier layers` of several samples in shards."""
    call = Call("layers", options)
    _path(call, "reference", reference)
    _path(call, "model", candidate)
    _path(call, "input_data", inputs)
    call.option("samples", samples)
    return _in_shards(call, LayersResult, shards, threads, retries, progress)


@dataclass(frozen=True)
class Configuration:
    """A model in one precision with one of the settings, as `vernier sweep` measures it."""

    model: str
    precision: str
    setting: str
    row: Mapping[str, Any] = field(default_factory=dict)  # as in the command's JSON
    failure: str = ""  # why there is no row

    @property
    def measured(self) -> bool:
        return not self.failure


def sweep(
    models: PathLike | Sequence[PathLike],
    precisions: Sequence[str],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    output: PathLike,
    threads: int = 1,
    retries: int = 3,
    progress: Progress = None,
    **options: Any,
) -> Iterator[Configuration]:
    """`vernier sweep` of each model in each precision with each of the settings (options by a name), a task
    each; what is measured comes as soon as it is. `output` is a folder that every node sees: models are
    written to it, and what is finished there is not made again."""
    named = settings or {"": {}}
    listed = [models] if isinstance(models, (str, os.PathLike)) else list(models)
    configurations, commands = [], []
    for model in listed:
        for precision in precisions:
            for name, setting in named.items():
                call = Call("sweep", {**options, **setting})
                _path(call, "model", model)
                call.option("precisions", precision)
                folder = Path(output, Path(model).stem, name).resolve()
                call.option("output", folder)
                folder.mkdir(parents=True, exist_ok=True)
                configurations.append(Configuration(os.fspath(model), precision, name))
                commands.append([*call.arguments, f"--threads={threads}"])
    return _swept(configurations, commands, threads, retries, progress)


def _swept(
    configurations: list[Configuration],
    commands: list[list[str]],
    threads: int,
    retries: int,
    progress: Progress,
) -> Iterator[Configuration]:
    for index, done in _run_all(commands, None, threads, retries, progress, "sweeping"):
        which = configurations[index]
        names = (which.model, which.precision, which.setting)
        if done.code != 0:
            yield Configuration(*names, failure=done.error)
            continue
        row = json.loads(done.out)["configurations"][-1]  # the row after the float model's
        yield Configuration(*names, row=row, failure=row.get("failure", ""))


def zoo(
    file: PathLike,
    *,
    cache: PathLike | None = None,
    threads: int = 1,
    retries: int = 3,
    progress: Progress = None,
) -> dict[str, Any]:
    """`vernier zoo`, a task for each row that is not in the cache, a folder that every node sees. Returns the
    JSON of the table. `threads` reserves cores for a row; what it uses of them is in the file."""
    command = ["zoo", os.path.abspath(file), *([] if cache is None else [f"--cache={os.path.abspath(cache)}"])]
    rows = _json(command)["rows"]
    missing = [index for index, row in enumerate(rows) if row["state"] in ("missing", "failed")]
    tasks = [[*command, "--jobs=1", f"--shard={index + 1}/{len(rows)}"] for index in missing]
    for _, done in _run_all(tasks, None, threads, retries, progress, "measuring"):
        if done.code != 0:
            raise Error(done.error)
    return _json(command)


def _json(command: list[str]) -> dict[str, Any]:
    done = _work([*command, "--collect", "--format=json"], os.getcwd(), None)
    if not done.out:
        raise Error(done.error)
    return dict(json.loads(done.out))


def _path(call: Call, option: str, value: Any) -> None:
    if value is not None and not _arrays.is_path(value):
        raise Error(f"[distributed] {option}: expected a path that every node sees, found {type(value).__name__}")
    call.option(option, value)


def _in_shards(
    call: Call, kind: type[R], shards: int | None, threads: int, retries: int, progress: Progress
) -> R:
    ray = _ray()
    count = shards or max(1, int(ray.cluster_resources().get("CPU", 1)) // max(1, threads))
    arguments = [*call.arguments, f"--threads={threads}"]
    arguments.remove("--format=json")
    commands = [[*arguments, f"--shard={number}/{count}"] for number in range(1, count + 1)]
    with tempfile.TemporaryDirectory(prefix="vernier-") as folder:
        parts = []
        for index, done in _run_all(commands, "part.vpart", threads, retries, progress, "shards"):
            if done.code != 0 or done.data is None:
                raise Error(done.error)
            parts.append(os.path.join(folder, f"{index + 1}.vpart"))
            Path(parts[-1]).write_bytes(done.data)
        if not parts:
            raise Error("[distributed] stopped before a shard was measured")
        missing = ["--allow-missing"] if len(parts) < count else []
        report = _vernier.run(["merge", "--format=json", *missing, *parts], None, [])
    for message in report.messages:
        warnings.warn(message.removeprefix("warning: "), stacklevel=3)
    return kind(report)


# ---- tasks


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    error: str  # last line on standard error
    data: bytes | None  # content of its output file; None if there is none


def _work(arguments: list[str], folder: str, output: str | None) -> Done:
    """Runs the program of this environment, in the folder if there is such here."""
    with tempfile.TemporaryDirectory(prefix="vernier-") as work:
        file = Path(work, output) if output else None
        command = [_program(), *arguments, *([f"--output={file}"] if file else [])]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder if os.path.isdir(folder) else None,
            preexec_fn=_end_with_parent,
        )
        lines = done.stderr.strip().splitlines() or [f"[distributed] ended with exit code {done.returncode}"]
        data = file.read_bytes() if file and file.exists() else None
        return Done(done.returncode, done.stdout, lines[-1].removeprefix("vernier: "), data)


_libc = ctypes.CDLL(None)


def _end_with_parent() -> None:
    """A worker that is killed leaves no program behind that goes on measuring."""
    set_parent_death_signal = 1
    _libc.prctl(set_parent_death_signal, signal.SIGTERM)


def _program() -> str:
    beside = Path(sys.executable).parent / "vernier"
    found = str(beside) if beside.exists() else shutil.which("vernier")
    if found is None:
        raise Error("[distributed] the program vernier is not installed on this node; pip install vernier")
    return found


def _ray() -> Any:
    try:
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise Error("[distributed] Ray is not installed; pip install 'vernier[ray]'") from error
    if not ray.is_initialized():
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError as error:
            raise Error("[distributed] no Ray cluster runs here; start one with: ray start --head") from error
    return ray


class _Tasks:
    """Tasks on the cluster, each run again elsewhere when its worker dies."""

    def __init__(self, commands: Sequence[list[str]], output: str | None, cpus: int, retries: int) -> None:
        self.ray = _ray()
        self.commands, self.output, self.cpus = commands, output, cpus
        self.left = [retries] * len(commands)
        self.folder = os.getcwd()
        # Records on which node each task started, because the driver cannot ask a worker that is
        # gone. It runs on the driver's own node, since Ray may still offer a node that has just
        # died.
        own = {"ray.io/node-id": self.ray.get_runtime_context().get_node_id()}
        self.board = self.ray.remote(num_cpus=0, label_selector=own)(_Board).remote()
        self.run = self.ray.remote(max_retries=0, num_cpus=cpus, scheduling_strategy="SPREAD")(_task)
        self.pending = {self.submit(index): index for index in range(len(commands))}

    def submit(self, index: int, lost_on: str | None = None) -> Any:
        options: dict[str, Any] = {}
        if lost_on and self.has_other_node(lost_on):
            options = {"label_selector": {"ray.io/node-id": f"!{lost_on}"}, "scheduling_strategy": None}
        run = self.run.options(**options) if options else self.run
        return run.remote(self.board, index, self.commands[index], self.folder, self.output)

    def has_other_node(self, node: str) -> bool:
        return any(
            each["Alive"] and each["NodeID"] != node and each["Resources"].get("CPU", 0) >= self.cpus
            for each in self.ray.nodes()
        )

    def next(self) -> tuple[int, Done] | None:
        """One that has ended; None for one that had to be run again, or if none has for a moment."""
        ready, _ = self.ray.wait(list(self.pending), num_returns=1, timeout=0.5)
        if not ready:
            return None
        index = self.pending.pop(ready[0])
        try:
            return index, Done(*self.ray.get(ready[0]))
        except self.ray.exceptions.RayTaskError as error:
            raise Error(f"[distributed] {error.cause}") from error
        except self.ray.exceptions.RayError as error:
            if self.left[index] == 0:
                raise Error(f"[distributed] task {index + 1} was lost too often: {_first_line(error)}") from error
            self.left[index] -= 1
            nodes = self.ray.get(self.board.nodes_of.remote(index))
            warnings.warn(f"[distributed] task {index + 1} was lost and is run again: {_first_line(error)}", stacklevel=2)
            self.pending[self.submit(index, nodes[-1] if nodes else None)] = index
            return None

    def cancel(self) -> None:
        for reference in self.pending:
            with contextlib.suppress(Exception):
                self.ray.cancel(reference)
        self.pending = {}


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0]


class _Board:
    """The nodes that each task was begun on."""

    def __init__(self) -> None:
        self.nodes: dict[int, list[str]] = {}

    def begin(self, index: int, node: str) -> None:
        self.nodes.setdefault(index, []).append(node)

    def nodes_of(self, index: int) -> list[str]:
        return self.nodes.get(index, [])


def _task(
    board: Any, index: int, command: list[str], folder: str, output: str | None
) -> tuple[int, str, str, bytes | None]:
    ray = _ray()
    ray.get(board.begin.remote(index, ray.get_runtime_context().get_node_id()))
    done = _work(command, folder, output)
    return done.code, done.out, done.error, done.data


def _run_all(
    commands: Sequence[list[str]],
    output: str | None,
    cpus: int,
    retries: int,
    progress: Progress,
    label: str,
) -> Iterator[tuple[int, Done]]:
    """The number of each command and how it ended, as they come. Ends early when progress returns False."""
    if not commands:
        return
    tasks = _Tasks(commands, output, cpus, retries)
    finished = 0
    with telling(progress) as tell:
        try:
            while tasks.pending:
                ended = tasks.next()
                if ended is not None:
                    finished += 1
                    yield ended
                if tell is not None and tell(label, finished, len(commands)) is False:
                    return
        finally:
            tasks.cancel()
