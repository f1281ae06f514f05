"""pyarrow: refuses the sentinel, but may have consumed an iterator by then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyarrow import lib

from lazyentity.patches.adapters import arrays  # noqa: F401  # makes them known
from lazyentity.patches.adapters.calls import before, seams
from lazyentity.search import children_of

_FUNCTIONS = ("array", "scalar", "chunked_array", "infer_type", "table", "record_batch")

SEAMS = (
    *seams("pyarrow.lib", *_FUNCTIONS, "asarray", "_from_pylist", look=before),
    *seams("pyarrow", *_FUNCTIONS, look=before),
)

_children_of_object = children_of.registry[object]


# pandas passes a data type for each column of strings, and searching its attributes takes time.
@children_of.register(lib.DataType)
@children_of.register(lib.Array)
@children_of.register(lib.ChunkedArray)
def _objects_of(data: Any) -> Iterable[Any]:
    # Classes of extension types are Python code, and their instances can hold anything.
    return () if type(data).__module__ == "pyarrow.lib" else _children_of_object(data)
