"""pandas: its JSON encoder takes the sentinel for an object with attributes.

Everything else of pandas is Python code as far as dicts are concerned; parquet is pyarrow's part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pandas.core.generic import NDFrame

from lazyentity.patches.adapters import arrays  # noqa: F401  # makes them known
from lazyentity.patches.adapters.calls import before, seams
from lazyentity.search import children_of

_HOOKS = {"default_handler": None}

SEAMS = seams("pandas.io.json._json", "ujson_dumps", look=before, about=_HOOKS)


@children_of.register
def _objects_of(frame: NDFrame) -> Iterable[Any]:
    return _columns_of_objects(frame)


def _columns_of_objects(frame: Any) -> list[Any]:
    columns = [column for _, column in frame.items()] if frame.ndim > 1 else [frame]
    return [column.tolist() for column in columns if column.dtype == object]
