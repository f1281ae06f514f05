from collections.abc import Callable
from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity.codec.contents import Contents

def serialise_entity(
    contents: Contents, contents_of: Callable[[Entity], Contents]
) -> tuple[bytes, bool]: ...
def write_entity(
    target: Any, contents: Contents, contents_of: Callable[[Entity], Contents]
) -> bool: ...
