"""Requests, equal to those of the generated API but built without proto-plus on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity.codec import shadow
from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.api.proxies import MessageProxy

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()
_Mutation: Any = datastore_pb2.Mutation.pb()

# The fields of the requests that clients make, with their types.
_LOOKUP_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "keys": (list,),
    "read_options": (datastore_pb2.ReadOptions,),
}
_COMMIT_FIELDS: dict[str, tuple[type, ...]] = {
    "project_id": (str,),
    "database_id": (str,),
    "mode": (datastore_pb2.CommitRequest.Mode,),
    "transaction": (bytes,),
    "mutations": (list,),
}


class _RequestBytes(MessageProxy):
    """A proxy of a request, made of its bytes.

    The generated client asks it for the project and the database, and sends the bytes.
    """

    __slots__ = ("_database", "_message", "_project", "_raw")

    _project: str
    _database: str
    _raw: bytes

    @classmethod
    def joined(cls, head: Any, *parts: bytes) -> Any:
        """Make a request.

        Args:
            head: an upb message of the request without a repeated field.
            parts: serialised requests with elements of that field, and nothing else.
        """
        request = object.__new__(cls)
        request._project = head.project_id
        request._database = head.database_id
        request._raw = b"".join((head.SerializeToString(), *parts))
        return request

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        # Others may change a request on its way.
        message = self._whole()
        setattr(message, name, value)
        self._project, self._database = message.project_id, message.database_id

    @property
    def project_id(self) -> str:
        return self._project

    @property
    def database_id(self) -> str:
        return self._database

    def serialised(self) -> bytes:
        """Return the serialised request, of the message if it was made."""
        try:
            message = object.__getattribute__(self, "_message")
        except AttributeError:
            return self._raw
        serialised: bytes = self._real.serialize(message)
        return serialised

    def _make(self) -> Any:
        return self._real.deserialize(self._raw)


class LookupBytes(_RequestBytes):
    """A proxy of a ``google.datastore.v1.LookupRequest``, made of serialised keys."""

    __slots__ = ()

    _real = datastore_pb2.LookupRequest

    @classmethod
    def of(cls, project: str, database: str, keys: Iterable[bytes]) -> Any:
        """Make the request that the client makes of these keys when it is given no options.

        Args:
            project: of the keys.
            database: the empty string for the default one.
            keys: serialised.
        """
        head = _LookupRequest(project_id=project, database_id=database)
        # The client sends options that are empty.
        head.read_options.SetInParent()
        return cls.joined(head, shadow.LookupKeys(keys=keys).SerializeToString())


class CommitBytes(_RequestBytes):
    """A proxy of a ``google.datastore.v1.CommitRequest``, made of serialised mutations."""

    __slots__ = ()

    _real = datastore_pb2.CommitRequest


class MutationBytes(MessageProxy):
    """A proxy of a ``google.datastore.v1.Mutation`` of a batch: an operation with an entity.

    Attributes:
        operation: insert or upsert.
        fields: the serialised entity, as any request can hold it, by its operation; empty at first.
        is_made: whether the message was made. Then it is sent, because it may have been changed.
    """

    __slots__ = ("_message", "fields", "is_made", "operation")

    _real = datastore_pb2.Mutation

    operation: str
    fields: dict[str, bytes]
    is_made: bool

    @classmethod
    def of(cls, operation: str) -> Any:
        """Make a mutation without its entity."""
        mutation = object.__new__(cls)
        mutation.operation = operation
        mutation.fields = {}
        mutation.is_made = False
        return mutation

    def _make(self) -> Any:
        # First, for another thread that sets the entity.
        self.is_made = True
        message = _Mutation()
        for operation, entity in self.fields.items():
            getattr(message, operation).MergeFromString(entity)
        return wrapped(datastore_pb2.Mutation, message)


REQUESTS = frozenset((LookupBytes, CommitBytes))
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


def lookup_request(request: Any) -> Any:
    """Return the ``LookupRequest`` that proto-plus would make of ``request``.

    Args:
        request: the argument of the API's method. Anything but a dict with the expected fields is
            returned as it is.
    """
    fields = _fields_as_expected(request, _LOOKUP_FIELDS)
    if fields is None:
        return request
    # Copied: another thread can change the list between the check and its use.
    keys = fields.pop("keys", []).copy()
    if any(type(key) is not entity_pb2.Key for key in keys):
        return request
    options = fields.pop("read_options", None)
    message = _LookupRequest(**fields)
    if options is not None:
        message.read_options.CopyFrom(options._pb)
    message.keys.extend([key._pb for key in keys])
    return wrapped(datastore_pb2.LookupRequest, message)


def commit_request(request: Any) -> Any:
    """Return the ``CommitRequest`` that proto-plus would make of ``request``.

    Args:
        request: as for :func:`lookup_request`.
    """
    fields = _fields_as_expected(request, _COMMIT_FIELDS)
    if fields is None:
        return request
    # As above: another thread may add a mutation to the list of a batch.
    mutations = fields.pop("mutations", []).copy()
    kinds = set(map(type, mutations))
    if not kinds <= _MUTATIONS:
        return request
    message = _CommitRequest(**fields)
    if MutationBytes not in kinds:
        message.mutations.extend([mutation._pb for mutation in mutations])
        return wrapped(datastore_pb2.CommitRequest, message)
    parts: list[bytes] = []
    for is_pending, run in groupby(mutations, _is_pending):
        if is_pending:
            parts.append(serialised_mutations(mutation.fields for mutation in run))
        else:
            # Copying parses, and so refuses a message that is nested too deep, as the client does.
            copied = _CommitRequest(mutations=[mutation._pb for mutation in run])
            parts.append(copied.SerializeToString())
    return CommitBytes.joined(message, *parts)


def _is_pending(mutation: Any) -> bool:
    return type(mutation) is MutationBytes and not mutation.is_made


def serialised_mutations(mutations: Iterable[Mapping[str, bytes]]) -> bytes:
    """Serialise a ``CommitRequest`` that has mutations, and nothing else.

    Args:
        mutations: the serialised message of each, by the name of its operation.
    """
    return bytes(shadow.CommitMutations(mutations=mutations).SerializeToString())


def _fields_as_expected(
    request: Any, expected: dict[str, tuple[type, ...]]
) -> dict[str, Any] | None:
    """Return the fields of ``request`` that are set; None, if there are others or other types."""
    if type(request) is not dict:
        return None
    # proto-plus, too, copies the dict first.
    fields = {name: value for name, value in request.copy().items() if value is not None}
    if any(type(value) not in expected.get(name, ()) for name, value in fields.items()):
        return None
    return fields
