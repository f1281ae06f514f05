"""duckdb: refuses the sentinel among the parameters of a statement."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import before, seams

_CALLS = ("execute", "executemany", "sql", "query", "from_query", "values")

SEAMS = (
    *seams("duckdb", *_CALLS, look=before),
    *seams("duckdb", *(f"DuckDBPyConnection.{name}" for name in _CALLS), look=before),
)
