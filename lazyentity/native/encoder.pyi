from collections.abc import Callable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.contents import Contents

def key_bytes(key: Key) -> bytes | None: ...
def complete_key_bytes(key: object, project: str, database: str) -> bytes | None: ...
def key_message(key: Key) -> Any: ...
def serialise_entity(
    contents: Contents, contents_of: Callable[[Entity], Contents]
) -> tuple[bytes, bool]: ...
def write_entity(
    target: Any, contents: Contents, contents_of: Callable[[Entity], Contents]
) -> bool: ...
