from collections.abc import Callable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.encodable import EncodableEntity

def key_bytes(key: Key) -> bytes | None: ...
def complete_key_bytes(key: object, project: str, database: str) -> bytes | None: ...
def key_message(key: Key) -> Any: ...
def serialise_entity(
    encodable: EncodableEntity, encodable_of: Callable[[Entity], EncodableEntity]
) -> tuple[bytes, bool]: ...
def write_entity(
    target: Any, encodable: EncodableEntity, encodable_of: Callable[[Entity], EncodableEntity]
) -> bool: ...
