from collections.abc import Callable
from typing import Any

def decode_items(iterator: Any, decode: Callable[[Any], object]) -> bool: ...
