"""Lazy reads for one client, or for one query of it, with nothing patched.

The client converts responses with functions of its modules. Those are replaced when something is
wrapped, by functions that tell lazy responses from stock ones; nothing else changes by that.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

from google.cloud.firestore_v1 import async_client, client
from google.cloud.firestore_v1.base_client import BaseClient
from google.cloud.firestore_v1.base_collection import BaseCollectionReference
from google.cloud.firestore_v1.base_document import BaseDocumentReference
from google.cloud.firestore_v1.base_query import BaseQuery
from google.cloud.firestore_v1.base_vector_query import BaseVectorQuery

from lazyentity._environment import EAGER_SWITCH, is_set
from lazyentity._mode import is_eager
from lazyentity.codec.describing import describe_type
from lazyentity.patches.firestore.seams import CLIENT, CONVERSIONS
from lazyentity.patches.firestore.transports import api_in_mode, read_lazily

_PARTS = ("_client", "_parent", "_nested_query", "_collection_ref")
_BOUND = (BaseCollectionReference, BaseDocumentReference, BaseQuery, BaseVectorQuery)


class _LazyReads:
    """The differences of a wrapped client; it shares its instance dictionary with the wrapped one.

    Attributes:
        _lazyentity_stock: the client that it wraps.
        _lazyentity_is_eager: whether it reads stock snapshots.
    """

    __slots__ = ("_lazyentity_is_eager", "_lazyentity_stock")

    _lazyentity_stock: Any
    _lazyentity_is_eager: bool

    @property
    def _firestore_api(self) -> Any:
        api = self._lazyentity_stock._firestore_api
        if not read_lazily(api):
            return api
        install()
        return api_in_mode(api, self._lazyentity_is_eager or is_eager())

    # References of both are equal, as they are if both clients are one object.
    def __eq__(self, other: object) -> bool:
        return True if _stock_of(other) is self._lazyentity_stock else NotImplemented

    def __hash__(self) -> int:
        return hash(self._lazyentity_stock)


def install() -> None:
    """Replace the functions that convert responses, unless that was done."""
    if not all(seam.is_installed() for seam in CONVERSIONS):
        CLIENT.patch.install()


def _stock_of(given: Any) -> Any:
    return given._lazyentity_stock if isinstance(given, _LazyReads) else given


@functools.cache
def _wrapped_type(kind: type) -> type:
    names = {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (_LazyReads, kind), names)


def _wrapped(stock: Any, is_eager: bool) -> Any:
    kind: Any = type(stock)
    made: Any = object.__new__(_wrapped_type(kind))
    made.__dict__ = stock.__dict__
    made._lazyentity_stock, made._lazyentity_is_eager = stock, is_eager
    return made


def _bound(given: Any, is_eager: bool) -> Any:
    """Return a copy of a query or reference, whose client is wrapped."""
    if isinstance(given, BaseClient):
        return _wrapped(_stock_of(given), is_eager)
    made = copy.copy(given)
    for name in _PARTS:
        if name in vars(made):
            setattr(made, name, _bound(vars(made)[name], is_eager))
    return made


def wrap(given: Any, names: Sequence[str], strict: bool, eager: bool | None) -> Any:
    """Wrap a client, query, collection or reference: see :func:`lazyentity.wrap`.

    Raises:
        TypeError: if it is something else, or if there are options that a snapshot does not have.
    """
    if names or strict:
        raise TypeError(
            f"wrap() of a {describe_type(given)} has no prefetch= and no strict=, which are for "
            "clients of Datastore; leave them out, and call prefetch() with the snapshots"
        )
    if not isinstance(given, (*_BOUND, client.Client, async_client.AsyncClient)):
        raise TypeError(
            "wrap() takes a google.cloud.firestore Client or AsyncClient, a query, a collection or "
            f"a reference to a document, not {describe_type(given)}"
        )
    install()
    if isinstance(given, _LazyReads) and eager is None:
        return given
    return _bound(given, is_set(EAGER_SWITCH) if eager is None else eager)
