"""Documents of google-cloud-firestore as bytes, for a cache or a file."""

from __future__ import annotations

import importlib
from typing import Any


def from_bytes(raw: bytes, client: Any) -> Any:
    """Return a lazy snapshot of a document, as :func:`lazyentity.raw` gives it.

    Args:
        raw: a serialised ``google.firestore.v1.Document``.
        client: the ``Client`` or ``AsyncClient`` of its reference, and of those in its fields.

    Returns:
        A ``DocumentSnapshot`` without ``read_time``; a stock one inside
        :func:`~lazyentity.eager`.

    Raises:
        ImportError: if the native backend is not there.
        google.protobuf.message.DecodeError: if ``raw`` is malformed.
        ValueError: if it has no name, or that of a document in another database.
    """
    # The client is imported only if somebody has one.
    importlib.import_module("lazyentity.patches.firestore.wrapping").install()
    return importlib.import_module("lazyentity.patches.firestore.snapshots").from_bytes(raw, client)
