"""Keys: of a serialised entity, and made without the client's Python constructor."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.key import Key

from lazyentity.codec import messages, shadow


def key_message_from_raw(raw: bytes) -> Any:
    """Parse the key of the serialised entity ``raw``, and nothing else; None if it has none.

    Returns:
        The upb ``google.datastore.v1.Key``.

    Raises:
        google.protobuf.message.DecodeError: if the bytes of the key are malformed.
    """
    occurrences = shadow.EntityKey.FromString(raw).key
    if not occurrences:
        return None
    message = messages.Key.FromString(occurrences[0])
    # Not joined: malformed parts may be well formed as a whole.
    for occurrence in occurrences[1:]:
        message.MergeFromString(occurrence)
    return message


def key_from_raw(raw: bytes) -> Key | None:
    """Decode the key of the serialised entity ``raw``; None if it has none.

    Raises:
        google.protobuf.message.DecodeError: if the bytes of the key are malformed.
        ValueError: as the client raises it, if it could not have converted the key.
    """
    message = key_message_from_raw(raw)
    if message is None:
        return None
    key: Key = helpers.key_from_protobuf(message)
    return key


def make_key(
    flat_path: tuple[Any, ...],
    path: list[dict[str, Any]],
    project: str,
    namespace: str | None,
    database: str | None,
) -> Key:
    """Make the key ``Key(*flat_path, project=..., ...)`` of parts that are known to be right.

    Args:
        flat_path: kinds and ids or names in turn; the last id or name may be missing.
        path: the same path, one dict with ``kind`` and ``id`` or ``name`` for each element.
        project: not empty.
        namespace: None for the default namespace.
        database: None for the default database.
    """
    key: Key = Key.__new__(Key)
    key.__dict__ = {
        "_flat_path": flat_path,
        "_parent": None,
        "_namespace": namespace,
        "_database": database,
        "_project": project,
        "_path": path,
    }
    return key


def _direct_agrees() -> bool:
    """Say whether a key of the installed client has the attributes of :func:`make_key` only."""
    stock = Key("Parent", 1, "Child", "name", project="p", namespace="n", database="d")
    path: list[dict[str, Any]] = [{"kind": "Parent", "id": 1}, {"kind": "Child", "name": "name"}]
    direct = make_key(("Parent", 1, "Child", "name"), path, "p", "n", "d")
    return vars(stock) == vars(direct)


DIRECT = _direct_agrees()
"""Whether :func:`make_key` may be used, and the backends know the attributes of keys."""
