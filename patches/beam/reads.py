"""Reading from Datastore in a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apache_beam import coders
from apache_beam.io.gcp.datastore.v1new import datastoreio
from apache_beam.transforms import Create, ParDo, Reshuffle

from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import LazyElement
from lazyentity.patches.beam.workers import shipped

_STOCK: Any = datastoreio.ReadFromDatastore
_StockQueryFn: Any = _STOCK._QueryFn

# For this class alone: the application's own elements are coded as before.
coders.registry.register_coder(LazyElement, ElementCoder)


class QueryFn(_StockQueryFn):  # type: ignore[misc]  # announces no types
    """Beam's DoFn that fetches the entities of a query, in a process that is patched for it."""

    def __reduce__(self) -> Any:
        return shipped(__name__, "unpickled", vars(self))


# Beam displays the name of the class.
for _attribute in ("__module__", "__name__", "__qualname__"):
    setattr(QueryFn, _attribute, getattr(_StockQueryFn, _attribute))


def unpickled(state: dict[str, Any]) -> Any:
    """Return a :class:`QueryFn` with these attributes. Pickles refer to this function."""
    made: Any = QueryFn()
    vars(made).update(state)
    return made


def replace_query_fn(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the class of the DoFn that fetches the entities of a query."""
    return QueryFn


class ReadFromDatastore(_STOCK):  # type: ignore[misc]  # announces no types
    """Beam's ``ReadFromDatastore``, with elements that convert a property when it is read.

    It takes the arguments of Beam's, and splits, retries, counts and displays as Beam's does. The
    elements are instances of ``apache_beam.io.gcp.datastore.v1new.types.Entity``. The workers need
    lazyentity, and no other set-up.

    Args:
        query (apache_beam.io.gcp.datastore.v1new.types.Query): selects the entities.
        num_splits (int): of the query; 0 leaves the number to the estimated size of the result.

    Raises:
        ValueError: if the query names no project, or the number is negative.
    """

    __module__ = "lazyentity.beam"  # is displayed

    def expand(self, pcoll: Any) -> Any:
        """As Beam's."""
        read = (
            pcoll.pipeline
            | "UserQuery" >> Create([self._query])
            | "SplitQuery" >> ParDo(_STOCK._SplitQueryFn(self._num_splits))
            | Reshuffle()
            | "Read" >> ParDo(QueryFn())
        )
        # This chooses the coder. It is not a type hint: Beam can be told to check hints, and a
        # worker may have reasons to make Beam's own elements.
        read.element_type = LazyElement
        return read
