"""SQLModel: models of tables are made without a validation.

Their values are what the application gave. Other models are validated as pydantic's are.
"""

from __future__ import annotations

from typing import Any

from lazyentity._alive import is_bare
from lazyentity._inplace import When
from lazyentity._mode import enter, leave, reads_eagerly
from lazyentity.patches.adapters.calls import CallSeam
from lazyentity.patches.adapters.pydantic import valid
from lazyentity.patches.adapters.reading import Reading


@reads_eagerly
def _construct(_: None, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    """Look into the values that a model of a table is made of."""
    __tracebackhide__ = True
    values = kwargs.get("values")
    if not is_bare(values):
        kwargs = {**kwargs, "values": {name: valid(value) for name, value in values.items()}}
    enter(None)
    try:
        return wrapped(*args, **kwargs)
    finally:
        leave()


SEAMS = (
    CallSeam("sqlmodel._compat", "sqlmodel_table_construct", _construct, when=When(always=True)),
    Reading("sqlmodel._compat", "sqlmodel_init"),
    Reading("sqlmodel._compat", "sqlmodel_validate"),
)
