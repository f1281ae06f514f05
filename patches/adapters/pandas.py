"""pandas: its JSON encoder takes the sentinel for an object with attributes.

Everything else of pandas is Python code as far as dicts are concerned; parquet is pyarrow's part.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from pandas import Series
from pandas.core.generic import NDFrame

from lazyentity.patches.adapters import arrays  # noqa: F401  # makes them known
from lazyentity.patches.adapters.calls import before, seams
from lazyentity.search import children_of

SEAMS = seams("pandas.io.json._json", "ujson_dumps", look=before, about={"default_handler": None})


@children_of.register
def _objects_of(frame: NDFrame) -> Iterable[Any]:
    return [array.ravel().tolist() for array in _arrays(frame) if array.dtype == object]


# Making a Series of each column takes a hundred times as long.
_arrays = operator.attrgetter("_mgr.arrays")
# A version without these private names is not adapted, and patch() warns of it.
_arrays(Series(dtype=object))
