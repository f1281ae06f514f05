"""Documents of google-cloud-firestore as bytes, for a cache or a file."""

from __future__ import annotations

import importlib
from typing import Any


def from_bytes(raw: bytes, client: Any) -> Any:
    """Return a lazy snapshot of a document from the bytes that :func:`lazyentity.raw` returns.

    Args:
        raw: a serialised ``google.firestore.v1.Document``.
        client: the ``Client`` or ``AsyncClient`` for the reference of the document, and for the
            references in its fields.

    Returns:
        A ``DocumentSnapshot`` without ``read_time``; inside :func:`~lazyentity.eager`, a stock one.

    Raises:
        ImportError: if the native backend is not available.
        google.protobuf.message.DecodeError: if ``raw`` is malformed.
        ValueError: if the document has no name, or is of another database.
    """
    # The client is imported only if somebody has one.
    importlib.import_module("lazyentity.patches.firestore.wrapping").install()
    return importlib.import_module("lazyentity.patches.firestore.snapshots").from_bytes(raw, client)
