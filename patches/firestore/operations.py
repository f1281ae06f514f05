"""The functions of lazyentity on snapshots of documents. Names are field paths, as of ``get()``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from google.cloud.firestore_v1 import _helpers
from google.cloud.firestore_v1.field_path import get_nested_value
from google.cloud.firestore_v1.types import document as document_pb2

from lazyentity._dispatch import KeyForm, Refuse
from lazyentity.codec.describing import safe_repr
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.firestore.snapshots import decoded_value, is_lazy, lazily_read


def raw(snapshot: Any) -> bytes:
    """Return the document as a serialised ``google.firestore.v1.Document``.

    Raises:
        ValueError: if there is no such document.
    """
    response = lazily_read(snapshot)
    if response is not None:
        # Fields that this version does not know are kept.
        return response.parsed_document().SerializeToString()  # type: ignore[no-any-return]  # a message's
    message = _helpers.document_snapshot_to_protobuf(snapshot)
    if message is None:
        raise ValueError(
            f"there is no document {safe_repr(snapshot.reference.path)}; raw() has nothing to give"
        )
    serialised: bytes = document_pb2.Document.serialize(message)
    return serialised


def prefetch(snapshot: Any, *names: str) -> NoReturn:
    """Refuse: nothing of a snapshot stays decoded but its ``_data``.

    Raises:
        TypeError: always.
    """
    raise TypeError(
        "prefetch() takes entities: a DocumentSnapshot keeps no fields that were read; call its "
        "to_dict() once, or materialize()"
    )


def decoded(snapshot: Any) -> Sequence[str]:
    """Return the names of all fields, if they are decoded for good; none otherwise."""
    return () if lazily_read(snapshot) is not None else tuple(snapshot._data or ())


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
        return dict(zip(names, _values(snapshot, names), strict=True))
    fields: dict[str, Any] | None = snapshot.to_dict()
    if fields is None:
        raise ValueError(f"there is no document {safe_repr(snapshot.reference.path)}")
    return fields


def _values(snapshot: Any, names: Sequence[str]) -> list[Any]:
    if not snapshot.exists:
        raise KeyError(names[0])
    return [snapshot.get(name) for name in names]


def key_as(snapshot: Any, form: KeyForm) -> Any:
    """Return the reference of the document, its id, or its path as a tuple."""
    if form == "key":
        return snapshot.reference
    return snapshot.id if form == "id" else snapshot.reference._path


def values(snapshot: Any, names: Sequence[str], refuse: Refuse | None) -> list[Any]:
    """Return the values at field paths, None where there is none."""
    if not snapshot.exists:
        if refuse is not None:
            for name in names:
                refuse(snapshot, name)
        return [None] * len(names)
    is_lazy, found = lazily_read(snapshot) is not None, []
    fields: Any = UNDECODED
    for name in names:
        value = decoded_value(snapshot, name) if is_lazy else UNDECODED
        if value is UNDECODED:
            if fields is UNDECODED:
                # Once for all names that the document lacks.
                fields = snapshot.to_dict()
            try:
                value = get_nested_value(name, fields)
            except KeyError:
                if refuse is not None:
                    refuse(snapshot, name)
                value = None
        found.append(value)
    return found
