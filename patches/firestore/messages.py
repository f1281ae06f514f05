"""Messages of writes that are bytes until somebody asks for a part of them.

Each is a plain proto-plus message without its ``_pb``. The class gets a descriptor of that name,
which parses the bytes once. It stays there when the client is unpatched, for messages that live on.
"""

from __future__ import annotations

from typing import Any

from google.cloud.firestore_v1.types import firestore as firestore_pb2, write as write_pb2

from lazyentity.codec.describing import safe_repr

_new = object.__new__
_RAW = "_lazyentity_raw"


class _Parsed:
    """``_pb`` of a message: parsed once, and then in the instance dictionary."""

    def __get__(self, message: Any, owner: Any) -> Any:
        attributes = {} if message is None else vars(message)
        raw = attributes.get(_RAW)
        if raw is None:
            # As without this descriptor; of an instance, proto-plus raises its own.
            raise AttributeError(f"type object {safe_repr(owner.__name__)} has no attribute '_pb'")
        # Of two threads both get the message of the first.
        parsed = attributes.setdefault("_pb", owner._meta.pb.FromString(raw))
        # A read of the database's name finds the message from now on.
        attributes.pop("database", None)
        return parsed


def make_lazy(*kinds: Any) -> None:
    """Give classes of messages the descriptor.

    Raises:
        AttributeError: if this version of proto-plus has an attribute of that name.
    """
    for kind in kinds:
        known = vars(kind).get("_pb")
        if known is None:
            kind._pb = _Parsed()
        elif type(known) is not _Parsed:
            raise AttributeError(f"{safe_repr(kind)} has an attribute _pb of its own")


Write = write_pb2.Write
REQUESTS: dict[str, Any] = {
    "commit": firestore_pb2.CommitRequest,
    "batch_write": firestore_pb2.BatchWriteRequest,
}
"""The classes of requests that hold writes, by the names of the API's methods."""


def lazy_message(kind: Any, raw: bytes) -> Any:
    """Make a message of its bytes, which are known to be well-formed."""
    message = _new(kind)
    vars(message)[_RAW] = raw
    return message


def raw_of(message: Any) -> bytes | None:
    """Return the bytes of a lazy message; None, if it may have changed since."""
    attributes = vars(message)
    return None if "_pb" in attributes else attributes.get(_RAW)


def serialised(kind: Any, request: Any) -> bytes:
    """Serialise a request of a class: with the class, the ``request_serializer`` of a stub.

    Raises:
        Exception: as the class's own serialiser raises it.
    """
    raw = raw_of(request) if type(request) is kind else None
    if raw is None:
        raw = kind.serialize(request)
    return raw


def delimited(tag: bytes, raw: bytes) -> bytes:
    """Return a length-delimited field."""
    size = len(raw)
    length = bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return b"".join((tag, length, raw))


_DATABASE, _WRITES, _TRANSACTION = b"\x0a", b"\x12", b"\x1a"
_REST = {firestore_pb2.CommitRequest: "transaction", firestore_pb2.BatchWriteRequest: "labels"}


def lazy_request(kind: Any, request: Any) -> Any:
    """Return a request as a lazy message; as it is, if the client has to make the message.

    Args:
        kind: the class of the request, one of the values of :data:`REQUESTS`.
        request: the argument of the API's method: a dict, where the client's own code calls it.
    """
    rest = _REST[kind]
    if type(request) is not dict or request.keys() != {"database", "writes", rest}:
        return request
    database, writes, last = request["database"], request["writes"], request[rest]
    if type(database) is not str or type(writes) is not list:
        return request
    # Copied: another thread can add to a batch.
    writes = tuple(writes)
    if not all(type(write) is Write for write in writes):
        return request
    raws = [raw_of(write) for write in writes]
    # Checked first: a request of transforms alone must cost no more than in stock.
    if all(raw is None for raw in raws):
        return request
    if last is not None and (type(last) is not bytes or rest != "transaction"):
        return request
    parts = [delimited(_DATABASE, database.encode())] if database else []
    for write, raw in zip(writes, raws, strict=True):
        parts.append(delimited(_WRITES, write._pb.SerializeToString() if raw is None else raw))
    if last is not None:
        parts.append(delimited(_TRANSACTION, last))
    message = lazy_message(kind, b"".join(parts))
    # The client reads it for the header of the RPC; proto-plus is asked for missing attributes.
    vars(message)["database"] = database
    return message
