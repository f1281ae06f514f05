"""Columns of entities: the values of the same few properties of many, for reports.

The backend decodes them from the bytes: nothing is stored in the entities.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

from google.cloud.datastore.entity import Entity

from lazyentity._backend import append_columns
from lazyentity._dispatch import (
    KeyForm,
    Refuse,
    operations_of,
    require_entity,
    require_several,
    unboxed_of,
    values_of,
)
from lazyentity.codec.describing import describe_entity, describe_type, safe_repr
from lazyentity.plain import plain_copy, to_dict

BATCH = 10_000
"""Entities of a batch, unless the caller chooses another number."""

Missing: TypeAlias = Literal["some", "null", "raise"]

# get_args() takes as long as the columns of some ten entities.
_KEY_FORMS: Final = get_args(KeyForm)
_MISSING: Final = get_args(Missing)


def columns(
    entities: Iterable[Entity],
    names: Iterable[str],
    *,
    key: str | None = None,
    key_as: KeyForm = "key",
    missing: Missing = "some",
) -> dict[str, list[Any]]:
    """Return the values of properties, a list of values for each name.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> keys = [datastore.Key("Order", number, project="demo") for number in (1, 2)]
    >>> orders = [datastore.Entity(key) for key in keys]
    >>> orders[0]["amount"] = 12.5
    >>> lazyentity.columns(orders, ["amount"], key="id", key_as="id")
    {'id': [1, 2], 'amount': [12.5, None]}

    Properties that were not read are decoded for the result only: the entities stay as they are.

    Args:
        entities: lazy or stock entities; an iterator is consumed, and no entity of it is kept.
        names: the properties.
        key: the name of a first column, with the keys of the entities. Without it, the result has
            no such column.
        key_as: the contents of that column: the ``"key"``, its ``"id"`` (``key.id_or_name``), or
            its ``"path"`` (``key.flat_path``). The value is None if an entity has no key.
        missing: with ``"some"``, entities may lack a property, but a name that no entity has is
            refused, because it is probably misspelt. ``"null"`` accepts such names, too.
            ``"raise"`` refuses each entity that lacks one of the properties. A property whose
            value is null is not missing.

    Returns:
        The columns, in the order of ``names``, each with a value for each entity. The value is None
        if an entity lacks the property. Values are plain, as in :func:`to_dict`.

    Raises:
        KeyError: if entities lack a property, and ``missing`` refuses that.
        TypeError: if ``names`` is a string, ``entities`` is a single entity or has anything but
            entities, or code that bypasses dict methods put an undecoded property of another entity
            into one.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        ValueError: also if ``key`` is one of ``names``, or ``key_as`` or ``missing`` has another
            value than those above.
        RuntimeError: if a property was not prefetched, and reading it is refused: see :func:`wrap`.
    """
    require_several("columns", entities)
    wanted = _wanted(names, key, key_as, missing)
    made = _columns(unboxed_of(entities), wanted)
    wanted.require_seen()
    return made


@dataclass
class _Wanted:
    """The checked arguments of a call.

    Attributes:
        unseen: names that no entity has had so far, if one has to.
        is_empty: whether there was no entity.
    """

    names: tuple[str, ...]
    key: str | None
    key_as: KeyForm
    is_complete: bool
    unseen: set[str]
    is_empty: bool = True

    def require_seen(self) -> None:
        """Check the names after the last entity.

        Raises:
            KeyError: if no entity had one of them.
        """
        if self.unseen and not self.is_empty:
            names = " or ".join(safe_repr(name) for name in self.names if name in self.unseen)
            raise KeyError(
                f"no entity has a property {names}; correct the name, or pass missing='null'"
            )


def _columns(entities: Iterator[Any], wanted: _Wanted) -> dict[str, list[Any]]:
    """Return the columns, and take note of the names that the entities have."""
    made: list[list[Any]] = [[] for _ in wanted.names]
    keys: list[Any] = []
    while wanted.unseen:
        # One by one, until an entity has had each of the names: mostly, the first one has.
        first = list(itertools.islice(entities, 1))
        if not first:
            break
        lacking: set[str] = set()
        _append(first, wanted, made, keys, functools.partial(_note_missing, lacking))
        wanted.unseen &= lacking
        wanted.is_empty = False
        # Nothing here keeps an entity.
        del first
    _append(entities, wanted, made, keys, _refuse_missing if wanted.is_complete else None)
    columns = dict(zip(wanted.names, made, strict=True))
    return columns if wanted.key is None else {wanted.key: keys, **columns}


def _append(
    entities: Iterable[Any],
    wanted: _Wanted,
    made: list[list[Any]],
    keys: list[Any],
    refuse: Refuse | None,
) -> None:
    known = wanted.names

    def values_of_other(entity: Any) -> list[Any]:
        own = operations_of(entity)
        if own is not None:
            return own.values(entity, known, refuse)
        require_entity("columns", entity)
        return values_of(entity, known, refuse, to_dict)

    if wanted.key is None:
        append_columns(entities, known, made, plain_copy, values_of_other, refuse=refuse)
        return

    def key_of(entity: Any) -> Any:
        return _key_as(entity, wanted.key_as)

    append_columns(entities, known, made, plain_copy, values_of_other, keys, key_of, refuse)


def _key_as(entity: Any, form: KeyForm) -> Any:
    own = operations_of(entity)
    if own is not None:
        return own.key_as(entity, form)
    key = entity.key
    if form == "key" or key is None:
        return key
    return key.id_or_name if form == "id" else key.flat_path


def _note_missing(lacking: set[str], entity: Any, name: str) -> None:
    lacking.add(name)


def _refuse_missing(entity: Any, name: str) -> NoReturn:
    raise KeyError(
        f"{describe_entity(lambda: _key_as(entity, 'key'))} has no property {safe_repr(name)}; "
        "correct the name, or leave missing='raise' out"
    )


def column_batches(
    entities: Iterable[Entity],
    names: Iterable[str],
    size: int = BATCH,
    *,
    key: str | None = None,
    key_as: KeyForm = "key",
    missing: Missing = "some",
) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of ``size`` entities at a time, for entities that do not fit into memory.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> keys = [datastore.Key("Order", number, project="demo") for number in (1, 2)]
    >>> orders = [datastore.Entity(key) for key in keys]
    >>> orders[0]["amount"] = 12.5
    >>> for batch in lazyentity.column_batches(orders, ["amount"], size=1):
    ...     print(batch)
    {'amount': [12.5]}
    {'amount': [None]}

    Args:
        entities: as for :func:`columns`. Entities of an iterator are taken a batch at a time.
        names: as for :func:`columns`.
        size: the number of entities in a batch; the last batch may have fewer.
        key: as for :func:`columns`.
        key_as: as for :func:`columns`.
        missing: as for :func:`columns`. A name that no entity has raises after the last batch.

    Raises:
        KeyError, TypeError, ValueError, RuntimeError: as for :func:`columns`.
        ValueError: also if ``size`` is not positive.
    """
    require_several("column_batches", entities)
    wanted = _wanted(names, key, key_as, missing)
    if size < 1:
        raise ValueError(f"a batch must have at least one entity, not {size}; pass a positive size")
    return _batches(unboxed_of(entities), wanted, size)


def _batches(
    entities: Iterator[Entity], wanted: _Wanted, size: int
) -> Iterator[dict[str, list[Any]]]:
    for first in entities:
        batch = itertools.chain([first], itertools.islice(entities, size - 1))
        # Nothing here keeps an entity while the caller has the batch.
        del first
        yield _columns(batch, wanted)
    wanted.require_seen()


def _wanted(names: Iterable[str], key: str | None, key_as: KeyForm, missing: Missing) -> _Wanted:
    """Check the arguments of a call.

    Raises:
        As :func:`columns`.
    """
    known = _names(names)
    if key is not None and not isinstance(key, str):
        raise TypeError(f"key must be the name of a column, not {describe_type(key)}")
    if key in known:
        raise ValueError(f"key and names both have {safe_repr(key)}; name the column of keys apart")
    _require_one_of("key_as", key_as, _KEY_FORMS)
    _require_one_of("missing", missing, _MISSING)
    unseen = set(known) if missing == "some" else set()
    return _Wanted(known, key, key_as, missing == "raise", unseen)


def _require_one_of(option: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ValueError(
            f"{option} must be one of {', '.join(map(repr, known))}, not {safe_repr(given)}"
        )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(
            f"names must be several names, not the string {safe_repr(names)}; pass a list"
        )
    if not isinstance(names, Iterable):
        raise TypeError(f"names must be several names, not {describe_type(names)}; pass a list")
    known = tuple(names)
    for name in known:
        if not isinstance(name, str):
            raise TypeError(f"names must be strings; {safe_repr(name)} is a {describe_type(name)}")
    return tuple(dict.fromkeys(known))
