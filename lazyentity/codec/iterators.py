"""The containers that Python's own iterators take their items from, found without taking one."""

from __future__ import annotations

import datetime
import decimal
import gc
import itertools
import types
import uuid
from collections import deque
from typing import Any

CONTAINERS: tuple[type[Any], ...] = (dict, list, tuple, set, frozenset, deque)

BARE: tuple[type[Any], ...] = (
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    bytearray,
    complex,
    type,
    types.BuiltinFunctionType,
    types.FunctionType,
    types.MethodType,
    types.ModuleType,
    types.GenericAlias,
)
"""Exact types of values, beside the most frequent ones, that hold nothing."""

ITERATORS_OF_CONTAINERS: frozenset[type[Any]] = frozenset(
    (
        type(iter([])),
        type(iter(())),
        type(iter({}.values())),
        type(iter({}.items())),
        type(iter(set())),
        type(iter(deque())),
        type(reversed([])),
        type(reversed({}.values())),
        type(reversed({}.items())),
    )
)
"""Exact types of iterators whose items are all in one container of Python's."""

ITERATORS: frozenset[type[Any]] = ITERATORS_OF_CONTAINERS | frozenset(
    (
        types.GeneratorType,
        map,
        filter,
        zip,
        enumerate,
        reversed,
        itertools.accumulate,
        itertools.chain,
        itertools.compress,
        itertools.cycle,
        itertools.dropwhile,
        itertools.filterfalse,
        itertools.islice,
        itertools.pairwise,
        itertools.starmap,
        itertools.takewhile,
        itertools.zip_longest,
    )
)
"""Exact types."""

ITERATORS_OF_CODE: frozenset[type[Any]] = frozenset(
    (types.GeneratorType, map, itertools.starmap, itertools.accumulate)
)
"""Exact types of iterators whose items need not be in any container."""

_ITERATED: tuple[type[Any], ...] = (*CONTAINERS, *ITERATORS)


def children_of_iterator(iterator: Any) -> list[Any]:
    """Return the containers and iterators that an iterator takes its items from; take no item."""
    held = gc.get_referents(iterator)
    for part in [part for part in held if type(part) is types.FrameType]:
        held += gc.get_referents(part)
    held += [
        content
        for part in held
        if type(part) is types.CellType
        for content in gc.get_referents(part)
    ]
    # A generator's other variables can lead to the whole application.
    return [part for part in held if issubclass(type(part), _ITERATED)]
