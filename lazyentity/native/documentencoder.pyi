from collections.abc import Callable
from typing import Any, final

@final
class DocumentWriter:
    def __init__(
        self,
        *,
        other: Callable[[Any], bytes],
        is_for_client: Callable[[Any], bool],
        geo_point: type[Any],
        references: tuple[type[Any], ...],
        timestamp: type[Any],
        vector: type[Any],
        write: type[Any],
    ) -> None: ...
    def update(self, name: str, fields: dict[str, Any]) -> bytes | None: ...
