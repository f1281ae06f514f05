"""Medians and quartiles of repeated measurements."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """The middle of a set of measurements and its spread (quartiles), all in one unit.

    ``rounds`` is the number of measurements behind it.
    """

    median: float
    q1: float
    q3: float
    rounds: int


def summarize(samples: Sequence[float]) -> Summary:
    """The median and quartiles of ``samples``.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("no samples to summarize")
    if len(samples) == 1:
        (only,) = samples
        return Summary(only, only, only, 1)
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    return Summary(median, q1, q3, len(samples))


def paired_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Summary:
    """The summary of ``numerators[i] / denominators[i]``.

    Both sides of a pair were measured one right after the other, so a machine that slows down for a
    while slows both and the quotient of the pair stays.

    Raises:
        ValueError: the sides differ in length, or are empty.
    """
    return summarize([top / bottom for top, bottom in zip(numerators, denominators, strict=True)])


def paired_difference(
    minuends: Sequence[float], subtrahends: Sequence[float], factor: float
) -> Summary:
    """The summary of ``minuends[i] - subtrahends[i]``, times ``factor``: in another unit."""
    pairs = zip(minuends, subtrahends, strict=True)
    return summarize([(more - less) * factor for more, less in pairs])


def scaled(samples: Sequence[float], factor: float) -> list[float]:
    """``samples`` in another unit."""
    return [sample * factor for sample in samples]


def scaled_summary(summary: Summary, factor: float) -> Summary:
    """``summary`` in another unit."""
    return Summary(
        summary.median * factor, summary.q1 * factor, summary.q3 * factor, summary.rounds
    )


def compared(
    samples: Mapping[str, Sequence[float]], factor: float = 1, **ratios: tuple[str, str]
) -> dict[str, Summary]:
    """The samples of each side, times ``factor``, and ratios of two sides each.

    Args:
        samples: by side; samples of two sides that are compared were taken in pairs.
        factor: of all samples, for another unit.
        ratios: by their names, the sides of the numerator and of the denominator.
    """
    summaries = {side: summarize(scaled(taken, factor)) for side, taken in samples.items()}
    return summaries | {
        name: paired_ratio(samples[top], samples[bottom]) for name, (top, bottom) in ratios.items()
    }
