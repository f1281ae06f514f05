"""The meaning of the counts: options for each site that reads, and advice with its consequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.counters import OTHER_NAMES, Snapshot
from lazyentity.profiling.counts import Counts, Line, Model
from lazyentity.profiling.observer import COLUMNS, USES, VALIDATION

_USUAL = 0.5
"""A property is suggested for prefetch if this share of the entities had it decoded by itself.

A model is worth its own dict if it takes no larger share of the properties.
"""
_EVERYTHING = 0.9
"""Options are of no use if this share of all properties is decoded."""

KEYS_ONLY: Final = "query.keys_only()"
_KEYS_SERVE = "No property was decoded: a keys-only query serves."
_OF_KEYS_ONLY = (
    "The entities have no properties: tests of an entity's truth, length or names find none, and "
    "put() of such an entity deletes its properties. Code that did not run here may need them."
)
_OF_PREFETCH = (
    "The properties are decoded for every entity; a malformed one raises when its entity is "
    "received."
)
_OF_STRICT = (
    " Reading any other property raises RuntimeError, also in code that did not run here; so do "
    "items(), ==, copies and pickles."
)
_OF_TO_DICT = (
    "The model gets a dict without the entity's key and other properties, and with plain dicts for "
    "embedded entities; so does the input of validation errors."
)
_OF_NAMES = " KeyError, if an entity lacks one of the properties."
_OF_DETACH = (
    "Keep the result in place of the entity, after its last new property was read. It lacks the "
    "properties that were not read before: [] raises KeyError, get() returns its default, and "
    "put() raises RuntimeError."
)
_OF_MATERIALIZE = (
    "The library gets a stock entity with everything decoded. It is a copy: changes to it are not "
    "made to the lazy entity."
)


@dataclass(frozen=True)
class Advice:
    """A change of the program that the counts suggest.

    Attributes:
        site: the line that it is about.
        kind: of the entities; None, if they have no key, or if it is not known.
        call: the call to add, in Python.
        place: where to add it.
        changes: everything that the program may notice of it.
    """

    site: CallSite
    kind: str | None
    call: str
    place: str
    changes: str


@dataclass(frozen=True)
class Suggestion:
    """Options of ``wrap()`` for the reads of a site.

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


def suggest(counts: Counts, is_leaked: bool = False) -> Suggestion:
    """Return the options that fit the reads of the entities of a kind at one site.

    Args:
        counts: of the entities.
        is_leaked: whether an undecoded property got to code that bypasses the methods of entities.
    """
    received, decoded = counts.received, counts.decoded_once
    if counts.obstacle:
        return _none(f"Decoded as a whole: {counts.obstacle}.")
    if counts.has_no_options:
        return _none("wrap() takes only queries and clients of google-cloud-datastore.")
    if not counts.entities:
        return _none("All entities were stock ones, with everything decoded.")
    if COLUMNS in counts.uses:
        return _none("Columns are made of the bytes: prefetch= would make them slower.")
    if not received:
        return _none("The entities have no properties.")
    if not decoded:
        need = need_of_properties(counts, is_leaked)
        if need:
            return _none(f"No property was decoded, but {need}.")
        return _none(_KEYS_SERVE)
    whole = max(counts.whole.values(), default=0)
    if decoded >= _EVERYTHING * received:
        if whole >= _USUAL * counts.entities:
            return _none("Nearly everything is decoded: see the code that decodes everything.")
        return _none("Nearly everything is decoded: naming properties would save nothing.")
    usual = usually_read(counts)
    rest = [name for name in counts.had | counts.read if counts.read[name] and name not in usual]
    if not usual:
        return _none("No property was decoded by itself for half of the entities.")
    is_strict = not rest and not whole
    options = [f"prefetch={list(usual)!r}"]
    if is_strict:
        reason = "No other property was read."
        options.append("strict=True")
    elif whole:
        share = min(1.0, whole / counts.entities)
        reason = f"Not strict: {share:.0%} of the entities were decoded as a whole."
    else:
        reason = f"Not strict: {_listed(rest)} {'were' if len(rest) > 1 else 'was'} read, too."
    return Suggestion(", ".join(options), usual, is_strict, reason)


def usually_read(counts: Counts) -> tuple[str, ...]:
    """Return the properties that most entities had decoded by themselves, most read first."""
    names = [
        name
        for name, number in counts.read.items()
        if name != OTHER_NAMES and number and number >= _USUAL * counts.entities
    ]
    return tuple(sorted(names, key=lambda name: (-counts.read[name], name)))


def need_of_properties(counts: Counts, is_leaked: bool) -> str:
    """Say why entities of which nothing was decoded are needed as they are; "" if they are not.

    Only a program that used the keys of its entities and nothing else, and then dropped the
    entities, can do without the properties.

    Args:
        counts: of the entities.
        is_leaked: as for :func:`suggest`.
    """
    if not counts.are_of_queries:
        return "not all entities came from queries that return whole entities"
    if counts.eager:
        return f"{counts.eager:,} other entities were stock ones"
    for use in USES:
        if use in counts.uses:
            return f"entities were {use}"
    if is_leaked:
        return "code that bypasses the methods of entities got undecoded properties"
    if counts.alive:
        return f"{counts.alive:,} entities are still in memory, and may be read later"
    return ""


def advice_for_reads(
    site: CallSite, kind: str | None, counts: Counts, is_leaked: bool
) -> Iterable[Advice]:
    """Yield the advice for the line that received entities."""
    suggestion = suggest(counts, is_leaked)
    if suggestion.options:
        changes = _OF_PREFETCH + (_OF_STRICT if suggestion.strict else "")
        reader = "query" if counts.are_of_queries else "client"
        call = f"lazyentity.wrap({reader}, {suggestion.options})"
        yield Advice(site, kind, call, f"in place of the {reader}", changes)
    elif suggestion.reason == _KEYS_SERVE:
        yield Advice(site, kind, KEYS_ONLY, "before fetch()", _OF_KEYS_ONLY)


def advice_for_held(site: CallSite, kind: str | None, counts: Counts) -> Iterable[Advice]:
    """Yield the advice for entities that stayed in memory, unless they were used as a whole."""
    is_whole = counts.uses or counts.whole.total()
    if counts.alive and 0 < counts.decoded_once < counts.received and not is_whole:
        place = "in place of the entity that is kept"
        yield Advice(site, kind, "lazyentity.detach([entity])[0]", place, _OF_DETACH)


def advice_for_whole(
    site: CallSite, operation: str, kind: str | None, line: Line
) -> Iterable[Advice]:
    """Yield the advice for a model of pydantic that takes few properties of decoded entities."""
    models = sorted(line.models)
    # Every entity was validated, and each model is known to take nothing else.
    if operation != VALIDATION or not models or line.validated < line.calls:
        return
    names = _names_of(models)
    taken = len(line.taken)
    if not names or taken > _USUAL * line.most:
        return
    are_common = line.lacking.isdisjoint(names)
    shown = " or ".join(model.name for model in models)
    handed = f" that {site.function}() hands on" if site.is_earlier else ""
    yield Advice(
        site,
        kind,
        _call_of_to_dict(models, names, are_common),
        f"in place of the entity{handed}: {shown} takes {taken} of {line.most} properties",
        _OF_TO_DICT + (_OF_NAMES if are_common else ""),
    )


def advise(counted: Snapshot) -> Iterator[Advice]:
    """Yield the advice for all that was counted between two moments."""
    for site, *_ in counted.sentinels:
        place = "in place of the entity, for the code that takes it"
        yield Advice(site, None, "lazyentity.materialize(entity)", place, _OF_MATERIALIZE)
    for (site, operation, kind), line in counted.wholes.items():
        yield from advice_for_whole(site, operation, kind, line)
    for (site, kind), counts in counted.call_sites.items():
        yield from advice_for_reads(site, kind, counts, bool(counted.sentinels))
        yield from advice_for_held(site, kind, counts)


def _names_of(models: Iterable[Model]) -> tuple[str, ...]:
    """Return the names that models take, in order; none, if one of the models may take any."""
    names: dict[str, None] = {}
    for model in models:
        if model.names is None:
            return ()
        names.update(dict.fromkeys(model.names))
    return tuple(names)


def _call_of_to_dict(models: list[Model], names: tuple[str, ...], are_common: bool) -> str:
    is_short = len(models) == 1 and models[0].are_fields
    fields = f"{models[0].name}.model_fields" if is_short else repr(list(names))
    if not are_common:
        # to_dict() raises for a name that the entity lacks.
        fields = f"[name for name in {fields} if name in entity]"
    return f"lazyentity.to_dict(entity, *{fields})"


def _none(reason: str) -> Suggestion:
    return Suggestion("", (), False, reason)


def _listed(names: Iterable[str], limit: int = 3) -> str:
    first = [repr(name) for name in names]
    more = len(first) - limit
    return ", ".join(first[:limit]) + (f" and {more} more" if more > 0 else "")
