"""Object arrays of numpy, which libraries for tables take and make."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazyentity.patches.wrapt_parts import register_post_import_hook
from lazyentity.search import children_of


def _objects_of(array: Any) -> Iterable[Any]:
    return array.ravel().tolist() if array.dtype == object else ()


# polars does without numpy.
register_post_import_hook(lambda numpy: children_of.register(numpy.ndarray, _objects_of), "numpy")
