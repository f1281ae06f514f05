"""Requests, equal to the generated API's but built without proto-plus on the way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, ClassVar

from google.cloud.datastore_v1.types import datastore as datastore_pb2

from lazyentity._backend import mutation_parts
from lazyentity.codec import shadow
from lazyentity.patches.api.proxies import MessageProxy

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()
_Mutation: Any = datastore_pb2.Mutation.pb()
_RunQueryRequest: Any = datastore_pb2.RunQueryRequest.pb()

_new = object.__new__
# The setters of proto-plus and Changeable are in Python, and there is a mutation for each entity.
_set = object.__setattr__

# The fields of the request that batches make, with their types.
_COMMIT_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "mode": (datastore_pb2.CommitRequest.Mode,),
    "transaction": (bytes,),
    "mutations": (list,),
}


def wrapped(kind: Any, message: Any) -> Any:
    """Return what ``kind.wrap(message)`` returns, without proto-plus's own setters.

    Args:
        kind: a subclass of ``proto.Message``.
        message: an upb message of the class ``kind.pb()``.
    """
    wrapper = _new(kind)
    _set(wrapper, "_pb", message)
    return wrapper


class Changeable(MessageProxy):
    """A proxy that others may change: the message is made, and sent from then on.

    Its own attributes begin with an underscore.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._whole(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._whole(), name)


class _RequestBytes(Changeable):
    """A proxy of a request, made of its bytes.

    The generated client asks it for the project and the database, and sends the bytes.
    """

    __slots__ = ("_message", "_parts")

    meta: ClassVar[Any]
    _message: Any
    """None, until the message is made."""
    _parts: tuple[str, str, bytes]
    """The project, the database and the serialised request, while there is no message."""

    def __init_subclass__(cls) -> None:
        # Interceptors log the name of a request's class.
        cls.__name__ = cls.__qualname__ = cls._real.__name__
        cls.meta = cls._real.meta

    @classmethod
    def _of(cls, project: str, database: str, raw: bytes) -> Any:
        request = _new(cls)
        _set(request, "_message", None)
        _set(request, "_parts", (project, database, raw))
        return request

    @classmethod
    def joined(cls, head: Any, *parts: bytes) -> Any:
        """Make a request.

        Args:
            head: an upb message of the request without a repeated field.
            parts: serialised requests with elements of that field, and nothing else.
        """
        raw = b"".join((head.SerializeToString(), *parts))
        return cls._of(head.project_id, head.database_id, raw)

    @property
    def project_id(self) -> str:
        made = self._message
        return self._parts[0] if made is None else made.project_id

    @property
    def database_id(self) -> str:
        made = self._message
        return self._parts[1] if made is None else made.database_id

    def serialised(self) -> bytes:
        """Return the serialised request, of the message if it was made."""
        made = self._message
        return self._parts[2] if made is None else bytes(self._real.serialize(made))

    def _whole(self) -> Any:
        if self._message is None:
            self._message = self._real.deserialize(self._parts[2])
        return self._message


class LookupBytes(_RequestBytes):
    """A proxy of a ``google.datastore.v1.LookupRequest``, made of serialised keys."""

    __slots__ = ()

    _real = datastore_pb2.LookupRequest

    @classmethod
    def from_keys(cls, project: str, database: str, keys: Iterable[bytes]) -> Any:
        """Make the request that the client makes of these keys when it is given no options.

        Args:
            project: of the keys.
            database: the empty string for the default one.
            keys: serialised.
        """
        serialised = shadow.LookupKeys(keys=keys).SerializeToString()
        return cls._of(project, database, _lookup_head(project, database) + serialised)


@functools.lru_cache
def _lookup_head(project: str, database: str) -> bytes:
    head = _LookupRequest(project_id=project, database_id=database)
    # The client sends options that are empty.
    head.read_options.SetInParent()
    return bytes(head.SerializeToString())


class QueryBytes(_RequestBytes):
    """A proxy of a ``google.datastore.v1.RunQueryRequest``, made of a serialised query."""

    __slots__ = ()

    _real = datastore_pb2.RunQueryRequest

    @classmethod
    def from_query(cls, project: str, database: str | None, head: bytes, query: Any) -> Any:
        """Make the request that the client makes of a query when it is given no options.

        Args:
            project: of the query.
            database: of the client.
            head: of :func:`query_head`.
            query: an upb request that has the query, and nothing else.
        """
        return cls._of(project, database or "", head + query.SerializeToString())


@functools.lru_cache
def query_head(project: str, database: str | None, namespace: str | None) -> bytes:
    """Serialise the request of a query without the query.

    Raises:
        TypeError, ValueError: if no request can have one of them.
    """
    partition = {"project_id": project, "database_id": database, "namespace_id": namespace}
    head = _RunQueryRequest(project_id=project, database_id=database, partition_id=partition)
    # As above.
    head.read_options.SetInParent()
    return bytes(head.SerializeToString())


class CommitBytes(_RequestBytes):
    """A proxy of a ``google.datastore.v1.CommitRequest``, made of serialised mutations."""

    __slots__ = ()

    _real = datastore_pb2.CommitRequest


class MutationBytes(Changeable):
    """A proxy of a ``google.datastore.v1.Mutation`` of a batch: an operation with an entity."""

    __slots__ = ("_fields", "_message")

    _real = datastore_pb2.Mutation

    _fields: dict[str, bytes]
    """The serialised entity by the operation."""
    _message: Any
    """None, until the message is made."""

    @classmethod
    def from_entity(cls, operation: str, serialised: bytes) -> Any:
        """Make a mutation.

        Args:
            operation: insert or upsert.
            serialised: the entity, as any request can hold it.
        """
        mutation = _new(cls)
        _set(mutation, "_fields", {operation: serialised})
        _set(mutation, "_message", None)
        return mutation

    def _whole(self) -> Any:
        if self._message is None:
            message = _Mutation()
            for operation, serialised in self._fields.items():
                getattr(message, operation).MergeFromString(serialised)
            self._message = wrapped(self._real, message)
        return self._message


REQUESTS = frozenset((LookupBytes, QueryBytes, CommitBytes))
"""The requests that are made of bytes."""
_MUTATIONS = frozenset((datastore_pb2.Mutation, MutationBytes))


def serialiser(serialise: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return a function that serialises requests, among them those that are made of bytes.

    Args:
        serialise: serialises a message.
    """

    def serialised(request: Any) -> bytes:
        made: bytes = request.serialised() if type(request) in REQUESTS else serialise(request)
        return made

    return serialised


def commit_request(request: Any, *, by_bytes: bool = True) -> Any:
    """Return the ``CommitRequest`` that proto-plus would make of ``request``.

    Args:
        request: the argument of the API's method. Anything but the dict that a batch makes is
            returned as it is.
        by_bytes: whether a :class:`CommitBytes` can be sent.
    """
    if type(request) is not dict:
        return request
    # proto-plus, too, copies the dict first.
    fields = {name: value for name, value in request.copy().items() if value is not None}
    if any(type(value) not in _COMMIT_FIELDS.get(name, ()) for name, value in fields.items()):
        return request
    # Copied: another thread may add a mutation to the list of a batch.
    mutations = fields.pop("mutations", []).copy()
    kinds = set(map(type, mutations))
    if not kinds <= _MUTATIONS:
        return request
    message = _CommitRequest(**fields)
    if not by_bytes or MutationBytes not in kinds:
        for mutation in mutations:
            if _is_pending(mutation):
                append_mutation(message.mutations, mutation._fields)
            else:
                message.mutations.append(mutation._pb)
        return wrapped(datastore_pb2.CommitRequest, message)
    parts: list[bytes] = []
    for is_pending, run in groupby(mutations, _is_pending):
        if is_pending:
            parts += mutation_parts([mutation._fields for mutation in run])
        else:
            # Copying parses, and so refuses a message that is nested too deep, as the client does.
            copied = _CommitRequest(mutations=[mutation._pb for mutation in run])
            parts.append(copied.SerializeToString())
    return CommitBytes.joined(message, *parts)


def _is_pending(mutation: Any) -> bool:
    return type(mutation) is MutationBytes and mutation._message is None


def append_mutation(mutations: Any, fields: Mapping[str, bytes]) -> None:
    """Append a mutation to an upb ``CommitRequest``.

    Args:
        mutations: the repeated field.
        fields: the serialised message by the name of the operation.
    """
    mutation = mutations.add()
    for operation, serialised in fields.items():
        getattr(mutation, operation).MergeFromString(serialised)
