"""pyarrow: refuses the sentinel, but may have consumed an iterator by then."""

from __future__ import annotations

from lazyentity.patches.adapters import arrays  # noqa: F401  # makes them known
from lazyentity.patches.adapters.calls import before, seams

_FUNCTIONS = ("array", "scalar", "chunked_array", "infer_type", "table", "record_batch")

SEAMS = (
    *seams("pyarrow.lib", *_FUNCTIONS, "asarray", "_from_pylist", look=before),
    *seams("pyarrow", *_FUNCTIONS, look=before),
)
