"""The functions of lazyentity on snapshots of documents. Names are field paths, as of ``get()``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.types import document as document_pb2

from lazyentity._dispatch import KeyForm, Refuse
from lazyentity.codec.describing import safe_repr
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.firestore.snapshots import field, field_names, fields_of, is_lazy


def raw(snapshot: Any) -> bytes:
    """Return the document as a serialised ``google.firestore.v1.Document``.

    Raises:
        ValueError: if there is no such document.
    """
    fields = fields_of(snapshot)
    document = None if fields is None else fields.document
    if document is not None:
        # As it was received, with fields that this version does not know.
        return document
    message = _helpers.document_snapshot_to_protobuf(snapshot)
    if message is None:
        raise ValueError(
            f"there is no document {safe_repr(snapshot.reference.path)}; raw() has nothing to give"
        )
    serialised: bytes = document_pb2.Document.serialize(message)
    return serialised


def prefetch(snapshot: Any, *names: str) -> None:
    """Decode the values at field paths now; all errors come now, too.

    Raises:
        KeyError: if there is no such field, or no such document.
    """
    to_dict(snapshot, *names)


def decoded(snapshot: Any) -> Sequence[str]:
    """Return the names of the fields that were decoded so far, in the order of the document."""
    fields = fields_of(snapshot)
    return tuple(snapshot._data or ()) if fields is None else fields.decoded()


def detach(snapshot: Any, partial: bool) -> NoReturn:
    """Refuse: a snapshot holds the bytes of a single document.

    Raises:
        TypeError: always.
    """
    raise TypeError(
        "detach() takes entities: a DocumentSnapshot holds its own document alone; keep the values "
        "that you need, or its to_dict()"
    )


def materialize(snapshot: Any) -> Any:
    """Return a stock snapshot with everything decoded; a stock one as it is."""
    if not is_lazy(snapshot):
        return snapshot
    return type(snapshot)(
        snapshot.reference,
        snapshot.to_dict(),
        snapshot.exists,
        snapshot.read_time,
        snapshot.create_time,
        snapshot.update_time,
    )


def to_dict(snapshot: Any, *names: str) -> dict[str, Any]:
    """Return the values at field paths; all fields, if there is no path.

    Raises:
        KeyError: if there is no such field, or no such document.
        ValueError: if there is no such document, and no path.
    """
    if names:
        if not snapshot.exists:
            raise KeyError(names[0])
        return {name: snapshot.get(name) for name in names}
    fields: dict[str, Any] | None = snapshot.to_dict()
    if fields is None:
        raise ValueError(f"there is no document {safe_repr(snapshot.reference.path)}")
    return fields


def key_as(snapshot: Any, form: KeyForm) -> Any:
    """Return the reference of the document, its id, or its path as a tuple."""
    if form == "key":
        return snapshot.reference
    return snapshot.id if form == "id" else snapshot.reference._path


def values(snapshot: Any, names: Sequence[str], refuse: Refuse | None) -> list[Any]:
    """Return the values at field paths, None where there is none."""
    fields, found = fields_of(snapshot), []
    for name in names:
        if fields is not None:
            value = field(snapshot, fields, field_names(name))
        else:
            try:
                value = snapshot.get(name) if snapshot.exists else UNDECODED
            except KeyError:
                value = UNDECODED
        if value is UNDECODED:
            if refuse is not None:
                refuse(snapshot, name)
            value = None
        found.append(value)
    return found
