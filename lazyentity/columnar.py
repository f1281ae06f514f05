"""Columns of entities: the values of the same few properties of many, for reports.

The backend decodes them from the bytes: nothing is stored in the entities.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity._backend import append_columns
from lazyentity._kinds import operations_of
from lazyentity._rows import rows_of
from lazyentity._types import describe_type, require_entity, require_several
from lazyentity.codec.describing import safe_repr
from lazyentity.plain import plain_copy, to_dict

BATCH = 10_000
"""Entities of a batch, unless the caller chooses another number."""


def columns(entities: Iterable[Entity], names: Iterable[str]) -> dict[str, list[Any]]:
    """Return the values of properties, a list of values for each name.

    Properties that were not read are decoded for the result only: the entities stay as they are.

    Args:
        entities: lazy or stock entities; an iterator is consumed, and no entity of it is kept.
        names: the properties. A name that no entity has gives a column of None.

    Returns:
        The columns, in the order of ``names``, each with a value for each entity. None stands where
        an entity lacks the property. Values are plain, as of :func:`to_dict`.

    Raises:
        TypeError: if ``names`` is a string, ``entities`` is a single entity, one of them is no
            entity, or code that bypasses dict methods put an undecoded property of another entity
            into one.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see :func:`wrap`.
    """
    require_several("columns", entities)
    known = _names(names)
    made: list[list[Any]] = [[] for _ in known]

    def values_of_other(entity: Any) -> list[Any]:
        if operations_of(entity) is None:
            require_entity("columns", entity)
        present = [name for name in known if name in entity]
        # Without a name, to_dict() would give all properties.
        values = to_dict(entity, *present) if present else {}
        return [values.get(name) for name in known]

    append_columns(rows_of(entities), known, made, plain_copy, values_of_other)
    return dict(zip(known, made, strict=True))


def column_batches(
    entities: Iterable[Entity], names: Iterable[str], size: int = BATCH
) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of ``size`` entities at a time, for entities that do not fit into memory.

    Args:
        entities: as for :func:`columns`. An iterator gives one batch of entities at a time.
        names: as for :func:`columns`.
        size: entities of a batch; the last batch may have fewer.

    Raises:
        As :func:`columns`. ValueError, if ``size`` is not positive.
    """
    require_several("column_batches", entities)
    known = _names(names)
    if size < 1:
        raise ValueError(f"a batch must have at least one entity, not {size}; pass a positive size")
    return _batches(rows_of(entities), known, size)


def _batches(
    entities: Iterator[Entity], names: tuple[str, ...], size: int
) -> Iterator[dict[str, list[Any]]]:
    for first in entities:
        batch = itertools.chain([first], itertools.islice(entities, size - 1))
        # Nothing here keeps an entity while the caller has the batch.
        del first
        yield columns(batch, names)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(
            f"names must be several names, not the string {safe_repr(names)}; pass a list"
        )
    known = tuple(dict.fromkeys(names))
    for name in known:
        if not isinstance(name, str):
            raise TypeError(f"names must be strings; {safe_repr(name)} is a {describe_type(name)}")
    return known
