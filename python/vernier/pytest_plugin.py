"""The fixture `vernier` of pytest.

    def test_export(vernier):
        vernier.assert_same(model, "model.onnx", inputs)

A comparison that does not pass fails the test with its report, and keeps the report's page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from vernier._results import CompareResult, LayersResult, Result


class Comparisons:
    """What the fixture gives: the questions of the package, as assertions."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request

    def assert_same(self, reference: Any, candidate: Any, inputs: Any = None, **options: Any) -> CompareResult:
        """Fails unless vernier.compare passes."""
        import vernier

        result = vernier.compare(reference, candidate, inputs, **options)
        self._require(result)
        return result

    def assert_same_layers(self, reference: Any, candidate: Any, inputs: Any = None, **options: Any) -> LayersResult:
        """Fails unless vernier.layers passes."""
        import vernier

        result = vernier.layers(reference, candidate, inputs, **options)
        self._require(result)
        return result

    def _require(self, result: Result) -> None:
        __tracebackhide__ = True
        if result.passed:
            return
        pytest.fail(f"{result}\n{self._keep(result)}", pytrace=False)

    def _keep(self, result: Result) -> str:
        cache = getattr(self._request.config, "cache", None)
        if cache is None:  # -p no:cacheprovider
            return ""
        name = re.sub(r"[^\w.-]+", "_", self._request.node.nodeid)
        page = cache.mkdir("vernier") / f"{name}.html"
        result.save(page)
        return f"report: {page}"


@pytest.fixture
def vernier(request: pytest.FixtureRequest) -> Comparisons:
    """Comparisons of models as assertions."""
    return Comparisons(request)
