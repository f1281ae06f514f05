"""The meaning of the counts: options for each site that reads, and entities to detach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lazyentity.codec.counts import Counts
from lazyentity.codec.tallies import OTHER_NAMES

_USUAL = 0.5
"""A property is suggested for prefetch if this share of the entities had it decoded by itself."""
_EVERYTHING = 0.9
"""Options are of no use if this share of all properties is decoded."""


@dataclass(frozen=True)
class Suggestion:
    """Options of ``wrap()`` for the reads of one site.

    Attributes:
        options: as arguments in Python; empty, if there is nothing to gain.
        prefetch: the names in the option ``prefetch``.
        strict: whether the options have ``strict=True``.
        reason: in one sentence.
    """

    options: str
    prefetch: tuple[str, ...]
    strict: bool
    reason: str


def suggest(counts: Counts) -> Suggestion:
    """Return the options that fit the reads of the entities of one kind at one site."""
    received = sum(named.received for named in counts.names.values())
    decoded = sum(min(named.decoded, named.received) for named in counts.names.values())
    if counts.has_no_options:
        return _none("wrap() takes only queries and clients of google-cloud-datastore.")
    if not counts.entities:
        return _none("All entities were stock ones, with everything decoded.")
    if not decoded:
        return _none("No property was decoded: if that is usual, a keys-only query serves.")
    if decoded >= _EVERYTHING * received:
        return _none("Nearly everything is decoded: naming properties would save nothing.")
    usual = usually_read(counts)
    rest = [name for name, named in counts.names.items() if named.read and name not in usual]
    whole = max(named.whole for named in counts.names.values())
    if not usual:
        return _none("No property was decoded by itself for half of the entities.")
    is_strict = not rest and not whole
    options = [f"prefetch={list(usual)!r}"]
    if is_strict:
        reason = "No other property was read."
        options.append("strict=True")
    elif whole:
        share = _percent(whole, counts.entities)
        reason = f"Not strict: {share} of the entities were decoded as a whole."
    else:
        reason = f"Not strict: {_listed(rest)} {'were' if len(rest) > 1 else 'was'} read, too."
    return Suggestion(", ".join(options), usual, is_strict, reason)


def usually_read(counts: Counts) -> tuple[str, ...]:
    """Return the properties that most entities had decoded by themselves, most read first."""
    names = [
        name
        for name, named in counts.names.items()
        if name != OTHER_NAMES and named.read and named.read >= _USUAL * counts.entities
    ]
    return tuple(sorted(names, key=lambda name: (-counts.names[name].read, name)))


def _none(reason: str) -> Suggestion:
    return Suggestion("", (), False, reason)


def _listed(names: Iterable[str], limit: int = 3) -> str:
    first = [repr(name) for name in names]
    more = len(first) - limit
    return ", ".join(first[:limit]) + (f" and {more} more" if more > 0 else "")


def _percent(part: float, whole: float) -> str:
    return f"{min(1.0, part / whole):.0%}"
