"""Entities of which no two have a name in common, so that learned names are of no use.

Kinds with maps keyed by a user's id are like that. Time is measured after many other entities were
read; memory is that of a process that read and dropped a stream of such entities.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from google.cloud import datastore
from google.cloud.datastore import helpers

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.cases.wire import lookup_responses
from lazyentity.bench.harness import processes, sides, verify
from lazyentity.bench.harness.lines import NewNames
from lazyentity.bench.harness.stats import paired_ratio, summarize
from lazyentity.bench.harness.timing import (
    MICROSECONDS,
    SIDES,
    Budget,
    Context,
    Task,
    figures,
    interleave,
)
from lazyentity.bench.subjects import memory

ENTITIES = "entities"
MODELS = ("Model", "Expando")
COUNTS = (1, 5, 20)

_SIDES = {"stock": sides.STOCK, "lazy": sides.LAZY}
_PLACEHOLDER = b"-" * 12
_NAMES_BEFORE = 50_000
_NAMES_OF_STREAM = 20_000
_MEGABYTE = 1e6

_serials = itertools.count()


def _template(names: int) -> bytes:
    """A response with `_PLACEHOLDER` in all names, in place of their serial number."""
    pbs = []
    for number in range(decoding.ENTITIES_A_RESPONSE):
        entity = datastore.Entity(
            datastore.Key(synthetic.KIND, number + 1, project=synthetic.PROJECT)
        )
        for position in range(names):
            entity[f"{position:02d}_{number:02d}{_PLACEHOLDER.decode()}"] = number + position
        pbs.append(helpers.entity_to_protobuf(entity)._pb)
    (response,) = lookup_responses(pbs, decoding.ENTITIES_A_RESPONSE)
    return response


def _renamed(template: bytes) -> bytes:
    return template.replace(_PLACEHOLDER, b"%012d" % next(_serials))


def _read_entities(side: sides.Side, response: bytes) -> list[Any]:
    entities = side.entities(response)
    for entity in entities:
        for name in entity:
            entity[name]
    return entities


def _read_models(side: sides.Side, response: bytes) -> list[Any]:
    from google.cloud.ndb import model

    # Looked up now, because the patch replaces the attribute of the module.
    make = model._entity_from_protobuf
    models = [make(result.entity) for result in side.deserialize(response).found]
    for instance in models:
        for name in instance._properties:
            getattr(instance, name)
    return models


def _prepared(of: str) -> tuple[Callable[[sides.Side, bytes], list[Any]], dict[str, Context]]:
    """The reader of a response, and a context for each side; ndb then knows the class."""
    if of == ENTITIES:
        return _read_entities, dict.fromkeys(_SIDES, contextlib.nullcontext)
    from lazyentity.bench.subjects import models

    models.CLASSES[of](0)
    return _read_models, models.CONTEXTS


def _responses(template: bytes, names: int, names_in_all: int) -> Iterator[bytes]:
    for _ in range(names_in_all // names // decoding.ENTITIES_A_RESPONSE):
        yield _renamed(template)


def megabytes(side: str, of: str, names: int) -> float:
    """The memory of this process after a stream, while it holds the last response."""
    read, contexts = _prepared(of)
    with contexts[side]():
        for response in _responses(_template(names), names, _NAMES_OF_STREAM):
            held = read(_SIDES[side], response)
        resident = memory.resident() / _MEGABYTE
        del held
    return resident


def measure(of: str, names: int, rounds: int, budget: Budget) -> NewNames:
    """Time reading all of ``of``, each with so many new names; measure memory in ``rounds``.

    Raises:
        subprocess.CalledProcessError: a measuring process failed; its own error is on stderr.
    """
    read, contexts = _prepared(of)
    template = _template(names)

    def task(side: sides.Side) -> Task:
        return lambda: read(side, _renamed(template))

    seen = {}
    for name, side in _SIDES.items():
        with contexts[name]():
            seen[name] = [dict(_values(made)) for made in read(side, template)]
            if name == "lazy":
                for response in _responses(template, names, _NAMES_BEFORE):
                    read(side, response)
    verify.check_same(seen["stock"], seen["lazy"], "values")
    timed = interleave({name: task(side) for name, side in _SIDES.items()}, budget, contexts)
    held = processes.measure(megabytes, _SIDES, rounds, of, names)
    return NewNames(
        of=of,
        names=names,
        **figures(timed, MICROSECONDS / decoding.ENTITIES_A_RESPONSE, ratio=SIDES),
        stock_mb=summarize(held["stock"]),
        lazy_mb=summarize(held["lazy"]),
        memory_ratio=paired_ratio(held["lazy"], held["stock"]),
    )


def _values(made: Any) -> Any:
    return made.items() if isinstance(made, dict) else made.to_dict()
