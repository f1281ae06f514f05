"""duckdb: refuses the sentinel among the parameters of a statement."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from lazyentity._alive import holds_no_values
from lazyentity.patches.adapters.calls import before, seams

# The methods get it as an argument.
holds_no_values(DuckDBPyConnection)

_CALLS = ("execute", "executemany", "sql", "query", "from_query", "values")

SEAMS = (
    *seams("duckdb", *_CALLS, look=before),
    *seams("duckdb", *(f"DuckDBPyConnection.{name}" for name in _CALLS), look=before),
)
