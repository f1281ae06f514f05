"""Reading from Datastore in a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apache_beam import coders, typehints
from apache_beam.io.gcp.datastore.v1new import datastoreio
from apache_beam.transforms import Create, ParDo, Reshuffle

from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import LazyElement
from lazyentity.patches.beam.workers import shipped

_STOCK: Any = datastoreio.ReadFromDatastore
_StockQueryFn: Any = _STOCK._QueryFn

# Of this class alone: elements of the application's own are coded as before.
coders.registry.register_coder(LazyElement, ElementCoder)


@typehints.with_output_types(LazyElement)
class QueryFn(_StockQueryFn):  # type: ignore[misc]  # announces no types
    """Beam's DoFn that fetches the entities of a query, in a process that is patched for it."""

    def __reduce__(self) -> Any:
        return shipped(__name__, "unpickled", vars(self))


def unpickled(state: dict[str, Any]) -> Any:
    """Return a :class:`QueryFn` with these attributes. Pickles refer to this function."""
    made: Any = QueryFn()
    vars(made).update(state)
    return made


def replace_query_fn(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the class of the DoFn that fetches the entities of a query."""
    return QueryFn


@typehints.with_output_types(LazyElement)
class ReadFromDatastore(_STOCK):  # type: ignore[misc]  # announces no types
    """Beam's ``ReadFromDatastore``, with elements that convert a property when it is read.

    It splits, retries, counts and displays as Beam's does, whose arguments it takes. The elements
    are instances of ``apache_beam.io.gcp.datastore.v1new.types.Entity``. The workers need
    lazyentity, and no other set-up.

    Args:
        query (apache_beam.io.gcp.datastore.v1new.types.Query): selects the entities.
        num_splits (int): of the query; 0 leaves the number to the estimated size of the result.

    Raises:
        ValueError: if the query names no project, or the number is negative.
    """

    def expand(self, pcoll: Any) -> Any:
        """As Beam's."""
        return (
            pcoll.pipeline
            | "UserQuery" >> Create([self._query])
            | "SplitQuery" >> ParDo(_STOCK._SplitQueryFn(self._num_splits))
            | Reshuffle()
            | "Read" >> ParDo(QueryFn())
        )
