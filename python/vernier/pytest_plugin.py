"""The fixture `vernier` of pytest.

    def test_export(vernier):
        vernier.assert_same(model, "model.onnx", inputs)

A comparison that does not pass fails the test with its report, and keeps the report's page.
`pytest --vernier-update` writes what each comparison measured to a file beside the test, in the folder
vernier_baselines, instead: later runs must not fall behind it. Put these files under version control.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from vernier._results import CompareResult, LayersResult, Result


class Comparisons:
    """What the fixture gives: the questions of the package, as assertions."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._comparisons = 0

    def assert_same(self, reference: Any, candidate: Any, inputs: Any = None, **options: Any) -> CompareResult:
        """Fails unless vernier.compare passes."""
        import vernier

        result = vernier.compare(reference, candidate, inputs, **self._with_baseline(options))
        self._require(result)
        return result

    def assert_same_layers(self, reference: Any, candidate: Any, inputs: Any = None, **options: Any) -> LayersResult:
        """Fails unless vernier.layers passes."""
        import vernier

        result = vernier.layers(reference, candidate, inputs, **options)
        self._require(result)
        return result

    def _with_baseline(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options, with the baseline of this comparison if there is one, or is to be."""
        self._comparisons += 1
        name = self._name() + (f"_{self._comparisons}" if self._comparisons > 1 else "")
        beside = Path(str(self._request.node.path)).parent / "vernier_baselines" / f"{name}.json"
        file = Path(options.get("baseline") or beside)
        if self._updates():
            file.parent.mkdir(parents=True, exist_ok=True)
            return {**options, "baseline": file, "update_baseline": True}
        return {**options, "baseline": file} if file.exists() or "baseline" in options else options

    def _updates(self) -> bool:
        return bool(self._request.config.getoption("vernier_update"))

    def _name(self) -> str:
        """By the test's file, wherever pytest was started; ids that differ in signs alone are told apart."""
        node = self._request.node
        full = f"{node.path.name}::{node.nodeid.partition('::')[2]}"
        name = re.sub(r"[^\w.-]+", "_", full)
        is_plain = re.fullmatch(r"[\w.-]+(::[\w.-]+)*", full)
        return name if is_plain else f"{name}-{hashlib.sha256(full.encode()).hexdigest()[:8]}"

    def _require(self, result: Result) -> None:
        __tracebackhide__ = True
        if result.passed or (self._updates() and only_limits_failed(result)):
            return
        # pytest's summary shows the first line.
        pytest.fail(f"{result.verdict.reason}\n\n{result}\n{self._keep(result)}", pytrace=False)

    def _keep(self, result: Result) -> str:
        cache = getattr(self._request.config, "cache", None)
        if cache is None:  # -p no:cacheprovider
            return ""
        page = cache.mkdir("vernier") / f"{self._name()}.html"
        result.save(page)
        return f"report: {page}"


def only_limits_failed(result: Result) -> bool:
    """What --vernier-update accepts: figures however low, but no NaN and nothing that is missing."""
    failures = result.verdict.failures
    return bool(failures) and all(failure.kind == "broken" for failure in failures)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("vernier")
    group.addoption(
        "--vernier-update",
        action="store_true",
        default=False,
        help="accept what is measured: write the baselines that later runs are held against",
    )


@pytest.fixture
def vernier(request: pytest.FixtureRequest) -> Comparisons:
    """Comparisons of models as assertions."""
    return Comparisons(request)
