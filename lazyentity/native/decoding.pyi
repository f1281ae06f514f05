from collections.abc import Callable, Iterable
from typing import Any

class Walk:
    def __init__(
        self,
        leaves: set[type],
        slots_of: Callable[[type], tuple[Any, ...] | None],
        is_model: Callable[[type], bool],
        items_of: Callable[[Any], list[Any] | None],
        held_by: Callable[[Any], Iterable[Any]],
        forgetting: Callable[[Any, dict[int, Any]], object],
    ) -> None: ...
    def is_plain(self, value: Any) -> bool: ...
    def decode(self, value: Any, validating: bool = False, levels: int = 3) -> bool: ...
