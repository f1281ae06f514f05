from collections.abc import Mapping
from typing import Any

from lazyentity.codec.cache import BoundedCache

SHAPES: BoundedCache[bytes, Shape]

class Shape:
    @property
    def ordinals(self) -> Mapping[str, int]: ...
    @property
    def template(self) -> Mapping[str, Any] | None: ...
