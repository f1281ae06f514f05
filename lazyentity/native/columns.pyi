from collections.abc import Callable, Iterable
from typing import Any, final

@final
class Row: ...

def append_columns(
    entities: Iterable[Any],
    names: tuple[str, ...],
    columns: list[list[Any]],
    copy: Callable[[Any], Any],
    other: Callable[[Any], list[Any]],
    keys: list[Any] | None = None,
    key_of: Callable[[Any], Any] | None = None,
    refuse: Callable[[Any, str], object] | None = None,
) -> None: ...
def fixed_width(values: list[Any]) -> tuple[type, bytearray] | None: ...
