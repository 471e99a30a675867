"""The measures that reports hold, on any two arrays: numpy, PyTorch, whatever has DLPack.

Arrays are read where they are and never converted; one whose elements do not lie one after the other is
copied. A NaN on either side makes every measure that it enters NaN.

    >>> import numpy
    >>> reference = numpy.array([3.0, 4.0], dtype=numpy.float32)
    >>> candidate = numpy.array([3.0, 4.5], dtype=numpy.float32)
    >>> max_abs_diff(reference, candidate)
    0.5
    >>> sqnr_db(reference, candidate)
    20.0
"""

from __future__ import annotations

from typing import Any

from vernier import _vernier
from vernier._arrays import plain

__all__ = [
    "argmax_agreement",
    "cosine_similarity",
    "max_abs_diff",
    "max_ulp_diff",
    "mean_abs_diff",
    "measure",
    "mse",
    "p999_ulp_diff",
    "psnr_db",
    "relative_l2",
    "sqnr_db",
]


def measure(reference: Any, candidate: Any, *, ulp: bool = False, argmax: bool = False) -> dict[str, float | None]:
    """Every measure of the pair by name, in one pass. What costs another pass is None unless it is asked
    for.

    >>> measure([1.0, 2.0], [1.0, 2.0])["sqnr_db"]
    inf
    """
    return _vernier.measure(plain(reference), plain(candidate), ulp, argmax)


def _one(name: str, reference: Any, candidate: Any) -> float:
    value = measure(reference, candidate)[name]
    assert value is not None
    return value


def sqnr_db(reference: Any, candidate: Any) -> float:
    """Signal over noise, in decibels: 10 log10(sum r^2 / sum (r - c)^2)."""
    return _one("sqnr_db", reference, candidate)


def psnr_db(reference: Any, candidate: Any) -> float:
    """Peak signal over noise, in decibels."""
    return _one("psnr_db", reference, candidate)


def cosine_similarity(reference: Any, candidate: Any) -> float:
    """The cosine of the angle between the two, as vectors."""
    return _one("cosine_similarity", reference, candidate)


def mse(reference: Any, candidate: Any) -> float:
    """The mean squared difference."""
    return _one("mse", reference, candidate)


def max_abs_diff(reference: Any, candidate: Any) -> float:
    """The largest absolute difference."""
    return _one("max_abs_diff", reference, candidate)


def mean_abs_diff(reference: Any, candidate: Any) -> float:
    """The mean absolute difference."""
    return _one("mean_abs_diff", reference, candidate)


def relative_l2(reference: Any, candidate: Any) -> float:
    """The length of the difference over that of the reference."""
    return _one("relative_l2", reference, candidate)


def max_ulp_diff(reference: Any, candidate: Any) -> float | None:
    """The largest difference in units in the last place; None where that has no meaning."""
    return measure(reference, candidate, ulp=True)["max_ulp_diff"]


def p999_ulp_diff(reference: Any, candidate: Any) -> float | None:
    """The 99.9th percentile of the differences in units in the last place; None where that has no
    meaning."""
    return measure(reference, candidate, ulp=True)["p999_ulp_diff"]


def argmax_agreement(reference: Any, candidate: Any) -> float | None:
    """The share of rows along the last axis whose first maximum stays where it is, 0 to 1; None for
    scalars and empty arrays."""
    return measure(reference, candidate, argmax=True)["argmax_agreement"]
