"""The client's own message classes, as the parser sees them (no proto-plus on the way)."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore_v1.types import entity as entity_pb2

Entity: Any = entity_pb2.Entity.pb()
"""upb class of ``google.datastore.v1.Entity``."""

Key: Any = entity_pb2.Key.pb()
"""upb class of ``google.datastore.v1.Key``."""

Value: Any = entity_pb2.Value.pb()
"""upb class of ``google.datastore.v1.Value``."""
