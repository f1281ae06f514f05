"""The contents of an entity that is to be written, as an encoder takes them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

Contents = tuple[Any, Collection[str], bool, Any, Any, Any, Any]
"""An entity as it is to be written:

- the lazy mapping whose undecoded properties are written as they came, or None;
- names of properties on the wire that are neither written as they came nor encoded;
- whether the key of that mapping is written as it came, too;
- the ``google.cloud.datastore.Key`` to write, or None;
- a dict of the properties to encode; for a lazy mapping, a copy of one moment, because other
  threads may decode more meanwhile;
- the names to exclude from indexes, as ``Entity.exclude_from_indexes`` has them;
- the meanings, as ``Entity._meanings`` has them.
"""
