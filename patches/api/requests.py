"""Requests, equal to those of the generated API but built without proto-plus on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2

from lazyentity.codec import shadow
from lazyentity.patches.api.protoplus import wrapped
from lazyentity.patches.api.proxies import MessageProxy

PART_OF = "_lazyentity_request"
"""The attribute in which a proto-plus ``Mutation`` keeps the upb ``CommitRequest`` around it."""

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()

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


class LookupBytes(MessageProxy):
    """A proxy of a ``google.datastore.v1.LookupRequest``, made of serialised keys.

    The generated client asks it for the project and the database, and sends its bytes.
    """

    __slots__ = ("_database", "_keys", "_message", "_project")

    _real = datastore_pb2.LookupRequest

    _project: str
    _database: str
    _keys: Sequence[bytes]

    @classmethod
    def of(cls, project: str, database: str, keys: Sequence[bytes]) -> Any:
        """Make the request that the client makes of these keys when it is given no options.

        Args:
            project: of the keys.
            database: the empty string for the default one.
            keys: serialised.
        """
        request = object.__new__(cls)
        request._project = project
        request._database = database
        request._keys = keys
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
            head = _LookupRequest(project_id=self._project, database_id=self._database)
            # The client sends options that are empty.
            head.read_options.SetInParent()
            keys = shadow.LookupKeys(keys=self._keys)
            return bytes(head.SerializeToString() + keys.SerializeToString())
        serialised: bytes = self._real.serialize(message)
        return serialised

    def _make(self) -> Any:
        return self._real.deserialize(self.serialised())


def serialised_lookup(request: Any) -> bytes:
    """Serialise a request as ``LookupRequest.serialize`` does."""
    if type(request) is LookupBytes:
        return request.serialised()
    serialised: bytes = datastore_pb2.LookupRequest.serialize(request)
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
        request: as for :func:`lookup_request`. If its mutations are all those of a batch, they are
            not copied.
    """
    fields = _fields_as_expected(request, _COMMIT_FIELDS)
    if fields is None:
        return request
    # As above: the list of a batch, to which another thread may add a mutation.
    mutations = fields.pop("mutations", []).copy()
    if any(type(mutation) is not datastore_pb2.Mutation for mutation in mutations):
        return request
    message = _CommitRequest(**fields)
    whole = _request_of(mutations)
    if whole is not None:
        whole.MergeFrom(message)
        message = whole
    else:
        message.mutations.extend([mutation._pb for mutation in mutations])
    return wrapped(datastore_pb2.CommitRequest, message)


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


def _request_of(mutations: Sequence[Any]) -> Any:
    """Return the upb ``CommitRequest`` that has just these mutations, and nothing else; or None.

    Args:
        mutations: the mutations of a batch, in proto-plus. Anybody may have added, moved or removed
            some.
    """
    request = vars(mutations[0]).get(PART_OF) if mutations else None
    if request is None or request.project_id:
        return None
    parts = list(request.mutations)
    if len(parts) != len(mutations):
        return None
    pairs = zip(mutations, parts, strict=True)
    if all(vars(one).get(PART_OF) is request and one._pb is part for one, part in pairs):
        return request
    return None
