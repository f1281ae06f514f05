"""The readers of entities, strict entities, and the decision about an RPC that is sent.

``patch()`` and ``wrap()`` choose the reader of a client or query. An RPC that is sent inside
``eager()`` has its own reader, which the handles of its response carry.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from lazyentity._backend import EntityReader, stock_from_raw
from lazyentity._mode import is_eager
from lazyentity.codec.describing import describe_entity, property_name, safe_repr
from lazyentity.entity import LazyEntity, LazyEntityBase

LAZY: Final = EntityReader(LazyEntity, stock_from_raw)
"""Makes lazy entities, with nothing decoded."""

STOCK: Final = EntityReader(LazyEntity, stock_from_raw, is_stock=True)
"""Makes stock entities."""


_PATIENCE = 100
"""Entities after which a name in ``prefetch=`` that none of them has is taken for misspelt."""


def prepared_reader(names: Sequence[str], strict: bool) -> EntityReader:
    """Return a reader of lazy entities that are prepared as the options of ``wrap()`` say.

    Args:
        names: the properties to decode.
        strict: whether to refuse to decode others.
    """
    if not names and not strict:
        return LAZY
    unseen = set(names)
    numbers = itertools.count(1)

    def prepare(entity: Any) -> Any:
        for name in names:
            entity.get(name)
        if unseen:
            unseen.difference_update(dict.keys(entity))
            if next(numbers) == _PATIENCE and unseen:
                warnings.warn(
                    f"lazyentity: the first {_PATIENCE} entities have no property "
                    f"{' or '.join(map(safe_repr, sorted(unseen)))}, named in prefetch=; correct "
                    "the name, or leave it out",
                    RuntimeWarning,
                    stacklevel=2,
                )
                unseen.clear()
        if strict:
            make_strict(entity)
        return entity

    return EntityReader(LazyEntity, stock_from_raw, prepare=prepare)


def reader_of_rpc() -> EntityReader | None:
    """Return the reader of an RPC that is sent now; None, if the client or query decides."""
    return STOCK if is_eager() else None


def make_strict(entity: LazyEntityBase) -> None:
    """Make a lazy entity refuse to decode any more properties.

    Entities embedded in it are left as they are.
    """
    entity._policy = STRICT


class Strict:
    """The policy of an entity that refuses to decode.

    Every operation that would decode a property raises RuntimeError. Code that reads entities often
    catches KeyError, AttributeError and ValueError, and would take the property for missing or
    malformed.

    Two things still decode: ``lazyentity.prefetch()``, and writing by a patched client, which needs
    a property whose index flag was changed. An unpatched client reads an entity by ``items()`` to
    write it, which is refused.
    """

    __slots__ = ()

    def refuse(self, entity: Any, name: str) -> NoReturn:
        """Refuse to read the undecoded property ``name``."""
        raise RuntimeError(
            f"property {property_name(name)} of {_describe(entity)} was not prefetched, and the "
            "query or client is strict; name the property in prefetch=, or decode it by "
            "lazyentity.prefetch(entity, name)"
        )

    def refuse_all(self, entity: Any, operation: str) -> NoReturn:
        """Refuse an operation that reads all properties, some of which are undecoded."""
        raise RuntimeError(
            f"{operation} reads all properties of {_describe(entity)}, some of which were not "
            "prefetched, and the query or client is strict; read single properties, or decode all "
            "by lazyentity.prefetch(entity, *entity)"
        )


STRICT: Final = Strict()


def _describe(entity: Any) -> str:
    return describe_entity(lambda: entity.key)
