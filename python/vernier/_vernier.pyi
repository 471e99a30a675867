"""The library behind the package vernier. Not meant to be used directly."""

from collections.abc import Sequence
from typing import Any


class Error(RuntimeError):
    pass

class Model:
    """A model in Python that a command can be given."""

    def __init__(self, name: str, make_host: object) -> None: ...

    @property
    def path(self) -> str:
        """What to give the command."""

    @property
    def failure(self) -> BaseException | None:
        """The exception that ended it, or None."""

class Arrays:
    """Arrays in Python that a command can be given."""

    def __init__(self, name: str, samples: Sequence[Sequence[tuple[str, Any]]], stacked: bool) -> None: ...

    @property
    def path(self) -> str:
        """What to give the command."""

class Report:
    """What a command would have printed."""

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 inconclusive."""

    @property
    def json(self) -> str:
        """The bytes of -f json, as text."""

    @property
    def conclusion(self) -> str:
        """The report's last line."""

    @property
    def messages(self) -> list[str]:
        """Warnings, as the command prints them."""

    def text(self, width: int = 0) -> str:
        """The report as the terminal shows it; 0: lines of any length."""

    def markdown(self) -> str:
        """The report in Markdown."""

    def page(self) -> str:
        """The page of -f html."""

    def document(self) -> str:
        """The report's title and blocks, as JSON."""

def run(arguments: Sequence[str], progress: object | None, models: Sequence[Model]) -> Report:
    """Runs a command as `vernier ARGUMENTS` does."""

def measure(reference: Any, candidate: Any, ulp: bool = False, argmax: bool = False) -> dict[str, float | None]:
    """Every metric of a pair of arrays, by name."""

def version() -> str:
    """Vernier's version."""

def onnxruntime_version() -> str:
    """The version of the ONNX Runtime that models run on."""

def onnxruntime_library() -> str:
    """Its file."""

def providers() -> list[str]:
    """The execution providers of that ONNX Runtime."""

def set_environment(program: str, folders: Sequence[str]) -> None:
    """Says which Python this is, and where it finds packages."""

def main(arguments: Sequence[str]) -> int:
    """Runs `vernier ARGUMENTS` on the terminal; returns its exit code."""

def companions() -> str:
    """The folder of the packages that export and host models."""
