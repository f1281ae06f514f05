"""The options that a profile suggests for the reads of a site."""

from __future__ import annotations

import pytest

from lazyentity.codec.counts import Counts, Named
from lazyentity.codec.tallies import OTHER_NAMES
from lazyentity.profiling.findings import suggest, usually_read


def _counts(entities: int = 10, **read: int) -> Counts:
    names = {name: Named(entities, number, 0) for name, number in read.items()}
    names["unread"] = Named(entities, 0, 0)
    names["unread, too"] = Named(entities, 0, 0)
    return Counts(entities=entities, names=names)


def _with_wholes(counts: Counts, number: int) -> Counts:
    for named in counts.names.values():
        named.whole = number
    return counts


@pytest.mark.parametrize(
    ("counts", "options", "strict", "reason"),
    [
        (_counts(a=10, b=10), "prefetch=['a', 'b'], strict=True", True, "No other"),
        (_counts(a=6, b=10), "prefetch=['b', 'a'], strict=True", True, "No other"),
        (_counts(a=10, b=1), "prefetch=['a']", False, "'b' was read"),
        (_counts(a=1, b=1), "", False, "for half of the entities"),
        (_with_wholes(_counts(a=1), 5), "", False, "for half of the entities"),
        (_counts(a=10, b=1, c=1), "prefetch=['a']", False, "'b', 'c' were read"),
        (
            _counts(a=10, b=1, c=1, d=1, e=1, f=1),
            "prefetch=['a']",
            False,
            "'b', 'c', 'd' and 2 more",
        ),
        (_counts(), "", False, "keys-only"),
        (_with_wholes(_counts(a=9), 1), "prefetch=['a']", False, "10% of the entities"),
        (_with_wholes(_counts(a=0), 10), "", False, "Nearly everything"),
        (Counts(eager=3, eager_size=5), "", False, "stock ones"),
        (Counts(entities=1, has_no_options=True), "", False, "wrap() takes only"),
    ],
)
def test_options(counts: Counts, options: str, strict: bool, reason: str) -> None:
    suggestion = suggest(counts)
    assert (suggestion.options, suggestion.strict) == (options, strict)
    assert reason in suggestion.reason


def test_names_that_were_counted_together_are_no_option() -> None:
    counts = _counts(a=10)
    counts.names[OTHER_NAMES] = Named(100, 100, 0)
    assert usually_read(counts) == ("a",)
