from __future__ import annotations

import pytest

from lazyentity.bench.harness.stats import Summary, paired_ratio, scaled, summarize

pytestmark = pytest.mark.any_backend


def test_median_and_quartiles() -> None:
    """A summary holds the median and the quartiles of the samples, in any order."""
    assert summarize([5, 1, 4, 2, 3]) == Summary(median=3, q1=2, q3=4, rounds=5)


def test_one_sample_has_no_spread() -> None:
    """A single measurement says that it is single."""
    assert summarize([7.5]) == Summary(median=7.5, q1=7.5, q3=7.5, rounds=1)


def test_nothing_measured() -> None:
    """No summary is made of nothing."""
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


def test_ratio_is_taken_pair_by_pair() -> None:
    """A machine that slows down for some rounds leaves the ratio alone."""
    lazy = [1.0, 1.0, 10.0, 10.0, 1.0]
    stock = [4 * seconds for seconds in lazy]
    assert paired_ratio(stock, lazy) == Summary(median=4, q1=4, q3=4, rounds=5)


def test_pairs_must_be_pairs() -> None:
    """Sides of different length are an error, not a shorter comparison."""
    with pytest.raises(ValueError, match="zip"):
        paired_ratio([1.0, 2.0], [1.0])


def test_scaled() -> None:
    """Samples change their unit, not their number."""
    assert scaled([0.5, 2.0], 1e3) == [500.0, 2000.0]
