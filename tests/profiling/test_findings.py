"""The options that a profile suggests for the reads of a site."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest

from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.counters import OTHER_NAMES
from lazyentity.profiling.counts import COLUMNS, NAMES, WRITTEN, Counts, Line, Model
from lazyentity.profiling.findings import (
    advice_for_held,
    advice_for_reads,
    advice_for_whole,
    suggest,
    usually_read,
)
from lazyentity.profiling.observer import STORAGE, VALIDATION

SITE = CallSite("app.py", 7, "read", "")
ORDER = Model("Order", ("a", "b"), True)


def _counts(entities: int = 10, **read: int) -> Counts:
    had = Counter(dict.fromkeys((*read, "unread", "unread, too"), entities))
    return Counts(entities=entities, had=had, read=Counter(read))


def _of_queries(**changed: Any) -> Counts:
    return dataclasses.replace(_counts(), are_of_queries=True, **changed)


def _counts_of_all(entities: int) -> Counts:
    every = Counter(dict.fromkeys("abc", entities))
    return Counts(entities=entities, had=every, read=every)


def _with_wholes(counts: Counts, number: int) -> Counts:
    return dataclasses.replace(counts, whole=Counter(dict.fromkeys(counts.had, number)))


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
        (_counts(), "", False, "not all entities came from queries"),
        (_of_queries(), "", False, "a keys-only query serves"),
        (_of_queries(uses=frozenset((NAMES, WRITTEN))), "", False, "but entities were written"),
        (_of_queries(alive=2), "", False, "2 entities are still in memory"),
        (_of_queries(eager=2), "", False, "2 other entities were stock ones"),
        (Counts(entities=3), "", False, "have no properties"),
        (
            dataclasses.replace(_counts(a=10), uses=frozenset((COLUMNS,))),
            "",
            False,
            "prefetch= would make them slower",
        ),
        (_counts_of_all(10), "", False, "naming properties would save nothing"),
        (_with_wholes(_counts(a=9), 1), "prefetch=['a']", False, "10% of the entities"),
        (_with_wholes(_counts(a=0), 10), "", False, "see the code that decodes everything"),
        (Counts(eager=3, eager_size=5), "", False, "stock ones"),
        (Counts(entities=1, has_no_options=True), "", False, "wrap() takes only"),
        (
            Counts(entities=1, has_no_options=True, obstacle="ndb makes them"),
            "",
            False,
            "Decoded as a whole: ndb makes them.",
        ),
    ],
)
def test_options(counts: Counts, options: str, strict: bool, reason: str) -> None:
    suggestion = suggest(counts)
    assert (suggestion.options, suggestion.strict) == (options, strict)
    assert reason in suggestion.reason


def test_names_that_were_counted_together_are_no_option() -> None:
    counts = _counts(a=10)
    counts.had[OTHER_NAMES] = counts.read[OTHER_NAMES] = 100
    assert usually_read(counts) == ("a",)


def test_code_that_took_undecoded_properties() -> None:
    """It may be what needs the entities."""
    assert "bypasses" in suggest(_of_queries(), is_leaked=True).reason
    assert not list(advice_for_reads(SITE, "Kind", _of_queries(), is_leaked=True))
    assert list(advice_for_reads(SITE, "Kind", _of_queries(), is_leaked=False))


@pytest.mark.parametrize(
    ("changed", "is_given"),
    [
        ({}, True),
        ({"alive": 0}, False),
        ({"uses": frozenset((WRITTEN,))}, False),
        ({"uses": frozenset((NAMES,))}, False),
        ({"had": Counter(a=10), "read": Counter(a=10)}, False),
        ({"had": Counter(a=10), "read": Counter()}, False),
        ({"read": Counter(a=5), "whole": Counter(a=5, b=5)}, False),
    ],
)
def test_entities_in_memory(changed: dict[str, Any], is_given: bool) -> None:
    """They are detached where nothing but some of their properties was read."""
    counts = dataclasses.replace(_counts(a=10), **{"alive": 10, **changed})
    assert bool(list(advice_for_held(SITE, "Kind", counts))) == is_given


def _line(*models: Model, names: str = "abcdefgh", calls: int = 1) -> Line:
    line = Line(calls=calls, properties=8)
    for number, model in enumerate(models):
        line.add_model(model, list(names), is_first=not number)
    return line


@pytest.mark.parametrize(
    ("line", "call"),
    [
        (_line(ORDER), "lazyentity.to_dict(entity, *Order.model_fields)"),
        (
            _line(ORDER, names="acdefgh"),
            "lazyentity.to_dict(entity, *[name for name in Order.model_fields if name in entity])",
        ),
        (_line(ORDER._replace(are_fields=False)), "lazyentity.to_dict(entity, *['a', 'b'])"),
        (
            _line(ORDER, Model("Other", ("b", "c"), True)),
            "lazyentity.to_dict(entity, *['a', 'b', 'c'])",
        ),
        (_line(ORDER, Model("Whole", None, False)), ""),
        (_line(ORDER, names="abc"), ""),
        (_line(ORDER._replace(names=tuple("abcdexyz"))), ""),
        (_line(ORDER, calls=2), ""),
        (_line(), ""),
    ],
)
def test_models(line: Line, call: str) -> None:
    """A model that takes few properties, and from every entity, gets a dict of these."""
    found = [each.call for each in advice_for_whole(SITE, VALIDATION, "Kind", line)]
    assert found == ([call] if call else [])
    assert not list(advice_for_whole(SITE, STORAGE, "Kind", line))
