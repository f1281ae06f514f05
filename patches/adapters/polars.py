"""polars: puts unknown objects, the sentinel included, into object columns."""

from __future__ import annotations

from polars.datatypes import DataTypeClass

from lazyentity._alive import holds_no_values
from lazyentity.patches.adapters import arrays  # noqa: F401  # makes them known
from lazyentity.patches.adapters.calls import before, seams

# Classes of data types are data types.
holds_no_values(DataTypeClass)

SEAMS = (
    *seams("polars.dataframe.frame", "DataFrame.__init__", look=before),
    *seams("polars.lazyframe.frame", "LazyFrame.__init__", look=before),
    *seams("polars.series.series", "Series.__init__", look=before),
    *seams("polars.convert.general", "from_dict", "from_dicts", "from_records", look=before),
    *seams("polars.functions.lit", "lit", look=before),
    *seams("polars", "from_dict", "from_dicts", "from_records", "lit", look=before),
)
