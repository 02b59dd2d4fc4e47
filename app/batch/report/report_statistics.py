"""The statistics of a report: intervals of rates, quantiles, and the comparison of two ways on the same tasks."""

from collections.abc import Sequence
from math import comb, sqrt

import msgspec

_HISTOGRAM_BIN_COUNT = 8
_Z_95_PERCENT = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate as two counts, with Wilson's interval of 95 %."""

    passed: int
    of: int
    rate: float
    low: float
    high: float


class Quantiles(msgspec.Struct, frozen=True, kw_only=True):
    median: float
    ninety: float
    most: float
    total: float
    bins: tuple[int, ...] = ()
    """How many values there are in each of equal parts from 0 to the largest value of all groups."""


def compute_pass_rate(passed: int, of: int) -> PassRate:
    """Computes the rate; Wilson's interval also holds for few runs, and never leaves 0 to 1."""
    if not of:
        return PassRate(passed=0, of=0, rate=0.0, low=0.0, high=1.0)
    rate, square = passed / of, _Z_95_PERCENT * _Z_95_PERCENT
    middle = (rate + square / (2 * of)) / (1 + square / of)
    half = _Z_95_PERCENT / (1 + square / of) * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    low = 0.0 if passed == 0 else max(0.0, middle - half)
    high = 1.0 if passed == of else min(1.0, middle + half)
    return PassRate(passed=passed, of=of, rate=rate, low=low, high=high)


def compute_quantiles(values: Sequence[float], most: float = 0.0) -> Quantiles:
    """Computes the quantiles; with `most`, the largest value of all groups, also the distribution."""
    ordered = sorted(values)
    if not ordered:
        return Quantiles(median=0.0, ninety=0.0, most=0.0, total=0.0)
    return Quantiles(
        median=_quantile(ordered, 0.5),
        ninety=_quantile(ordered, 0.9),
        most=ordered[-1],
        total=sum(ordered),
        bins=_count_by_bin(ordered, most) if most > 0 else (),
    )


def _count_by_bin(values: Sequence[float], most: float) -> tuple[int, ...]:
    counts = [0] * _HISTOGRAM_BIN_COUNT
    for value in values:
        counts[min(_HISTOGRAM_BIN_COUNT - 1, int(_HISTOGRAM_BIN_COUNT * max(0.0, value) / most))] += 1
    return tuple(counts)


def sign_test(better: int, worse: int) -> float:
    """Returns the probability of a difference at least this large if neither group were better: the exact two-sided
    sign test.

    With one run of each task this is McNemar's exact test."""
    count = better + worse
    if not count:
        return 1.0
    tail = sum(comb(count, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / 2**count)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Returns a quantile, interpolated between the two nearest values."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
