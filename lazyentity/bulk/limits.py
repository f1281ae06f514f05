"""The limits of Datastore for one request, and for one entity."""

from __future__ import annotations

from typing import Final

MAX_KEYS: Final = 1_000
"""Keys in one look-up."""

MAX_MUTATIONS: Final = 500
"""Mutations in one commit."""

MAX_REQUEST_BYTES: Final = 10 * 1024 * 1024
"""Bytes of a request."""

MAX_ENTITY_BYTES: Final = 1024 * 1024 - 4
"""Bytes of a serialised entity."""

CONCURRENCY: Final = 10
"""Requests at a time, unless the caller asks for another number."""
