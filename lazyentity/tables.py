"""Typed tables of entities, for pyarrow and pandas."""

from __future__ import annotations

import contextlib
import datetime
import importlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from google.cloud.datastore.entity import Entity

from lazyentity._backend import fixed_width
from lazyentity._dispatch import KeyForm
from lazyentity.codec.describing import describe_type, safe_repr, safe_str
from lazyentity.columnar import Missing, column_batches, columns

if TYPE_CHECKING:
    import pandas
    import pyarrow

_NUMPY = {bool: "bool", int: "int64", float: "float64", datetime.datetime: "datetime64[us]"}
_MASKED = {bool: "BooleanArray", int: "IntegerArray", float: "FloatingArray"}


def to_pandas(
    entities: Iterable[Entity],
    names: Iterable[str],
    *,
    objects: bool = False,
    key: str | None = None,
    key_as: KeyForm = "key",
    missing: Missing = "some",
) -> pandas.DataFrame:
    """Return properties of entities as a ``pandas.DataFrame``, a row for each entity.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> keys = [datastore.Key("Order", number, project="demo") for number in (1, 2)]
    >>> orders = [datastore.Entity(key) for key in keys]
    >>> orders[0]["amount"] = 12.5
    >>> lazyentity.to_pandas(orders, ["amount"], key="id", key_as="id")
       id  amount
    0   1    12.5
    1   2    <NA>

    Args:
        entities: as for :func:`columns`.
        names: as for :func:`columns`; the columns of the result. Without any, it has no rows.
        objects: whether a property with values of several types is kept as Python objects.
        key: as for :func:`columns`.
        key_as: as for :func:`columns`.
        missing: as for :func:`columns`.

    Returns:
        Columns of booleans, integers, floats, strings and timestamps have the dtypes of these, in
        their nullable forms (``Int64``) if a value is missing. All other columns have objects.

    Raises:
        KeyError, TypeError, ValueError, RuntimeError: as for :func:`columns`.
        TypeError: also if a property has values of several types.
        OverflowError: if an assigned integer has more than 64 bits.
        ImportError: if pandas is not installed.
    """
    library = _imported("pandas")
    made = columns(entities, names, key=key, key_as=key_as, missing=missing)
    # Not of Series, whose indexes pandas compares and joins.
    frame: pandas.DataFrame = library.DataFrame(
        {name: _pandas_array(library, name, values, objects) for name, values in made.items()},
        copy=False,
    )
    return frame


def _pandas_array(library: Any, name: str, values: list[Any], objects: bool) -> Any:
    numpy = _imported("numpy")
    fixed = fixed_width(values)
    if fixed is not None:
        width, buffer = fixed
        made = numpy.frombuffer(buffer, _NUMPY[width])
        return library.array(made, _timestamps(library)) if width is datetime.datetime else made
    kind = _one_kind(name, _kinds(values), objects)
    if kind in _MASKED:
        # Not library.array(), which makes nulls of the floats that are no numbers.
        filled = [kind() if value is None else value for value in values]
        is_null = numpy.array([value is None for value in values])
        with _integers_of(name):
            return getattr(library.arrays, _MASKED[kind])(
                numpy.array(filled, _NUMPY[kind]), is_null
            )
    if kind is datetime.datetime:
        return library.array(values, _timestamps(library))
    if kind is str:
        # The dtype depends on the version and the options of pandas, which a DataFrame looks up.
        return values
    made = numpy.empty(len(values), object)
    # Not numpy.array(), which would turn arrays of equal length into dimensions.
    made[:] = values
    return library.arrays.NumpyExtensionArray(made)


def _timestamps(library: Any) -> Any:
    # Not for each column: it parses the name of the zone.
    return library.DatetimeTZDtype("us", "UTC")


def to_arrow(
    entities: Iterable[Entity],
    names: Iterable[str],
    *,
    objects: bool = False,
    key: str | None = None,
    key_as: KeyForm = "key",
    missing: Missing = "some",
) -> pyarrow.Table:
    """Return properties of entities as a ``pyarrow.Table``, a row for each entity.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> keys = [datastore.Key("Order", number, project="demo") for number in (1, 2)]
    >>> orders = [datastore.Entity(key) for key in keys]
    >>> orders[0]["amount"] = 12.5
    >>> lazyentity.to_arrow(orders, ["amount"], key="id", key_as="id").to_pydict()
    {'id': [1, 2], 'amount': [12.5, None]}

    Entities of an iterator are taken in batches, which become the chunks of the table.

    Args:
        entities: as for :func:`columns`.
        names: as for :func:`columns`; the columns of the result. Without any, it has no rows.
        objects: whether a property with values of several types becomes a dense union of the types.
        key: as for :func:`columns`.
        key_as: as for :func:`columns`.
        missing: as for :func:`columns`.

    Returns:
        Arrays become lists, and embedded entities structs, if all values of a property have one
        type. Missing values are nulls.

    Raises:
        KeyError, TypeError, ValueError, RuntimeError: as for :func:`columns`.
        TypeError: also if a property has values of several types, or of a type that Arrow lacks:
            keys, geographical points, and arrays and embedded entities that mix types in one place.
        OverflowError: if an assigned integer has more than 64 bits.
        ImportError: if pyarrow is not installed.
    """
    library = _imported("pyarrow")
    known = tuple(names) if not isinstance(names, str) else names
    titles = known if key is None else (key, *known)
    made = {name: _ArrowColumn(library, name, objects) for name in titles}
    batches = column_batches(entities, known, key=key, key_as=key_as, missing=missing)
    for batch in batches:
        for name, values in batch.items():
            made[name].add(values)
    return library.table({name: column.finish() for name, column in made.items()})


class _ArrowColumn:
    """A column of an Arrow table, made batch by batch.

    Values of scalar types are converted at once, all others in the end: the type of a list depends
    on all of them.
    """

    def __init__(self, library: Any, name: str, objects: bool) -> None:
        self._arrow = library
        self._name = name
        self._objects = objects
        self._kinds: set[type] = set()
        self._chunks: list[Any] = []

    def add(self, values: list[Any]) -> None:
        """Take the values of a batch."""
        self._kinds |= _kinds(values)
        kind = _one_kind(self._name, self._kinds, self._objects)
        scalar = None if kind is None else _arrow_type(self._arrow, kind)
        # Until there is a value, the column has the type of nulls.
        is_scalar = scalar is not None or not self._kinds
        with _integers_of(self._name):
            self._chunks.append(self._arrow.array(values, scalar) if is_scalar else values)

    def finish(self) -> Any:
        """Return the chunked array."""
        kind = _one_kind(self._name, self._kinds, self._objects)
        if kind is not None and (scalar := _arrow_type(self._arrow, kind)) is not None:
            chunks = [chunk.cast(scalar) for chunk in self._chunks]
            return self._arrow.chunked_array(chunks, scalar)
        if not self._kinds:
            return self._arrow.chunked_array(self._chunks, self._arrow.null())
        values = [
            value
            for chunk in self._chunks
            for value in (chunk if isinstance(chunk, list) else chunk.to_pylist())
        ]
        return self._union(values) if kind is None else self._array(values)

    def _array(self, values: list[Any]) -> Any:
        self._require_one_type(values)
        try:
            return self._arrow.array(values)
        except (self._arrow.ArrowInvalid, self._arrow.ArrowTypeError) as error:
            raise TypeError(
                f"Arrow has no type for all values of property {safe_repr(self._name)} "
                f"({safe_str(error)}); use to_pandas(), or leave the property out"
            ) from error

    def _require_one_type(self, values: list[Any]) -> None:
        """Check values, and the values inside of them: Arrow would make floats of integers.

        Raises:
            TypeError: if there are several types in one place, or a type that Arrow lacks.
        """
        kinds = _kinds(values)
        if len(kinds) > 1:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise TypeError(
                f"Arrow has no type for all values of property {safe_repr(self._name)}: there are "
                f"several types in its arrays or embedded entities ({names}); use to_pandas(), or "
                "leave the property out"
            )
        present = [value for value in values if value is not None]
        if kinds == {list}:
            self._require_one_type([item for value in present for item in value])
        elif kinds == {dict}:
            inside: dict[str, list[Any]] = {}
            for value in present:
                for name, item in value.items():
                    inside.setdefault(name, []).append(item)
            for items in inside.values():
                self._require_one_type(items)
        elif present and _arrow_type(self._arrow, *kinds) is None:
            raise TypeError(
                f"property {safe_repr(self._name)} has values of type {describe_type(present[0])}, "
                "which Arrow lacks; use to_pandas(), or leave the property out"
            )

    def _union(self, values: list[Any]) -> Any:
        """Make a dense union: each value is in the child of its type."""
        children: dict[Any, list[Any]] = {}
        types, offsets = [], []
        for value in values:
            kind = None if value is None else _kind_of(value)
            child = children.setdefault(kind, [])
            types.append(list(children).index(kind))
            offsets.append(len(child))
            child.append(value)
        return self._arrow.UnionArray.from_dense(
            self._arrow.array(types, self._arrow.int8()),
            self._arrow.array(offsets, self._arrow.int32()),
            [self._array(child) for child in children.values()],
            ["null" if kind is None else kind.__name__ for kind in children],
        )


def _arrow_type(library: Any, kind: type) -> Any:
    """Return the Arrow type of values of a scalar type; None for others."""
    types = {
        bool: library.bool_(),
        int: library.int64(),
        float: library.float64(),
        str: library.string(),
        bytes: library.binary(),
        datetime.datetime: library.timestamp("us", "UTC"),
    }
    return types.get(kind)


def _kind_of(value: Any) -> type:
    # The client has its own subclass of datetime.
    return datetime.datetime if isinstance(value, datetime.datetime) else type(value)


def _kinds(values: list[Any]) -> set[type]:
    """Return the types of values, nulls aside."""
    found = set(map(type, values)) - {type(None)}
    return {datetime.datetime if issubclass(kind, datetime.datetime) else kind for kind in found}


def _one_kind(name: str, kinds: set[type], objects: bool) -> type | None:
    """Return the type of the values of a property; None if there are several types or no value.

    Raises:
        TypeError: if there are several types, and ``objects`` is false.
    """
    if len(kinds) > 1 and not objects:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"property {safe_repr(name)} has values of several types ({names}); pass objects=True "
            "to keep them as they are"
        )
    return next(iter(kinds)) if len(kinds) == 1 else None


@contextlib.contextmanager
def _integers_of(name: str) -> Iterator[None]:
    """Name the property whose integers are too large.

    Raises:
        OverflowError: the code inside raised one.
    """
    try:
        yield
    except OverflowError as error:
        raise OverflowError(
            f"property {safe_repr(name)} has an integer of more than 64 bits, and a typed column "
            "has no room for it; leave the property out"
        ) from error


def _imported(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f"{library} is not installed; install it with `pip install {library}`", name=error.name
        ) from error
