import datetime
from collections.abc import Callable
from typing import Any, final

@final
class DocumentReader:
    def __init__(
        self,
        *,
        geo_point: Callable[[float, float], Any],
        reference: Callable[[str, Any], Any],
        other_map: Callable[[bytes, Any], Any],
        timestamp: type[datetime.datetime] | None,
    ) -> None: ...
