"""Calls of libraries other than pydantic that no entity is in run no Python code of lazyentity."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity._backend import stock_from_raw
from lazyentity.patches import adapters
from tests.adapters.test_idle import _modules_that_run, native
from tests.adapters.uses import TABULAR, Holds
from tests.support.forks import answer
from tests.support.snapshots import outcome
from tests.support.stock import in_order_of
from tests.support.strategies.samples import PLAIN, serialise

_module = pytest.importorskip
ROWS = [{"id": 1, "name": "name"}, {"id": 2, "name": "other"}]


# Each test collects garbage.
pytestmark = pytest.mark.usefixtures("only_new_objects", "adapted")


def _is_valid() -> Callable[[], object]:
    validator = _module("jsonschema_rs").validator_for({"items": {"type": "object"}})
    return lambda: validator.is_valid(ROWS)


def _entry() -> Callable[[], object]:
    entries = _module("pycrdt").Doc().get("rows", type=_module("pycrdt").Map)
    return lambda: entries.update({"row": ROWS[0]})


def _execute() -> Callable[[], object]:
    connection = _module("duckdb").connect()
    return lambda: connection.execute("select ?, ?", [1, "name"])


def _calling(module: str, name: str, *args: Any, **kwargs: Any) -> Callable[[], Callable[[], Any]]:
    return lambda: functools.partial(getattr(_module(module), name), *args, **kwargs)


CALLS: dict[str, Callable[[], Callable[[], object]]] = {
    "orjson": _calling("orjson", "dumps", ROWS),
    "bson": _calling("bson", "encode", {"rows": ROWS}),
    "pyarrow": _calling("pyarrow", "array", ["a", "b"], from_pandas=True),
    "pyarrow, rows": lambda: lambda: _module("pyarrow").Table.from_pylist(ROWS),
    "polars": _calling("polars", "Series", "name", ["a", "b"]),
    "jsonschema_rs": _is_valid,
    "pycrdt": _entry,
    "duckdb": _execute,
}


@native
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_run(name: str) -> None:
    """Whether or not entities are alive."""
    call = CALLS[name]()
    # Some libraries import others at their first call.
    call()
    # bson's options are asked for encoders.
    asked = ["lazyentity.patches.adapters.bson"] if name == "bson" else []
    assert _modules_that_run(call) == asked
    kept = LazyEntity.from_bytes(PLAIN)
    assert _modules_that_run(call) == asked
    assert kept._undecoded()


HOOKED = {"orjson": "dumps", "ormsgpack": "packb", "rapidjson": "dumps"}


@native
@pytest.mark.parametrize("library", HOOKED)
def test_only_the_hook_is_wrapped(library: str) -> None:
    """A dict of values that refer to no others needs no look into each of them."""
    function = getattr(_module(library), HOOKED[library])
    kept = LazyEntity.from_bytes(PLAIN)
    # No scalar, and the garbage collector knows nothing of it. Python 3.13 does not tell.
    given = [{"name": object()}] if sys.version_info < (3, 13) else ROWS
    found = _modules_that_run(lambda: function(given, default=lambda _: "text"))
    # Once for each call of the hook; wrapping it runs nothing.
    assert found == ["lazyentity.patches.adapters.results"] * (given is not ROWS)
    assert kept._undecoded()


@pytest.mark.parametrize("library", HOOKED)
def test_an_entity_among_attributes(library: str) -> None:
    """Python 3.13 does not track the dict of an instance that gets its values later."""
    raw = serialise({"a": "x"})
    holder: Any = Holds()
    holder.name = "name"
    attributes = vars(holder)
    holder.entity = LazyEntity.from_bytes(raw)
    function = getattr(_module(library), HOOKED[library])
    found = function(attributes, default=lambda _: None)
    holder.entity = stock_from_raw(raw)
    assert found == function(attributes, default=lambda _: None)


@pytest.mark.parametrize("advice", ["python_scan_all_frames", "register"])
def test_a_frame_in_a_local_variable(advice: str) -> None:
    """The advice for statements of duckdb that name one."""
    connection = _module("duckdb").connect()
    frame = _module("pandas").DataFrame({"number": [1]})
    if advice == "register":
        connection.register("frame", frame)
    else:
        connection.execute("set python_scan_all_frames=true")
    entity = LazyEntity.from_bytes(serialise({"a": "x"}))
    found = connection.execute("select ?, number from frame", [entity]).fetchall()
    assert found == [({"a": "x"}, 1)]


@native
def test_a_hasher_saves_by_its_own_method() -> None:
    """Once a call of Python code, and none for each object."""
    joblib = _module("joblib")
    ours = "lazyentity.patches.adapters.joblib"
    few = _modules_that_run(lambda: joblib.hash(ROWS)).count(ours)
    assert _modules_that_run(lambda: joblib.hash(ROWS * 9)).count(ours) == few > 0


_WRONG = {
    "a keyword": lambda function, entity: function([entity], from_pandas=True),
    "another keyword": lambda function, entity: function([entity], nonsense=1),
    "a keyword twice": lambda function, entity: function([entity], obj=1),
    "none": lambda function, _: function(),
}


@pytest.mark.parametrize("name", _WRONG)
def test_arguments_of_a_function_of_cython(name: str) -> None:
    """They reach it as they are, and so do its errors."""
    function = _module("pyarrow").array
    lazy = LazyEntity.from_bytes(TABULAR)
    adapted = outcome(_WRONG[name], function, lazy)
    adapters.remove()
    ordered = in_order_of(LazyEntity.from_bytes(TABULAR), stock_from_raw(TABULAR))
    stock = outcome(_WRONG[name], _module("pyarrow").array, ordered)
    assert type(adapted) is type(stock)
    assert str(adapted) == str(stock)


@native
def test_the_pointer_is_put_back() -> None:
    array = _module("pyarrow").array
    assert len(array([LazyEntity.from_bytes(TABULAR)])) == 1
    adapters.remove()
    with pytest.raises(Exception, match="UndecodedType"):
        array([LazyEntity.from_bytes(TABULAR)])


TAKERS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "orjson": ("orjson", "dumps", list),
    "ujson": ("ujson", "dumps", list),
    "msgspec": ("msgspec.json", "encode", list),
    "ormsgpack": ("ormsgpack", "packb", list),
    "cbor2": ("cbor2", "dumps", list),
    "bson": ("bson", "encode", lambda items: {"items": items}),
    "polars": ("polars", "Series", list),
    "polars, frame": ("polars", "DataFrame", list),
    "polars, column": ("polars", "DataFrame", lambda items: {"items": items}),
    "polars, dicts": ("polars", "from_dicts", list),
    "pyarrow": ("pyarrow", "array", list),
    "immutables": ("immutables", "Map", lambda items: {"items": items}),
}


@pytest.mark.parametrize("name", TAKERS)
def test_no_item_is_taken_of_an_iterator_after_a_string(name: str) -> None:
    """So such a list is settled without a look at each item."""
    module, function, make = TAKERS[name]
    taken = []

    def items() -> Iterator[int]:
        taken.append(1)
        yield 1

    adapters.remove()
    call = getattr(_module(module), function)
    with contextlib.suppress(Exception):
        call(make(["text", items()]))
    assert taken == []


def test_options_with_encoders_have_decoded_results() -> None:
    """The same options object without encoders needs no call of Python code."""
    bson = _module("bson")
    options = importlib.import_module("bson.codec_options")
    registry = options.TypeRegistry(fallback_encoder=lambda _: LazyEntity.from_bytes(PLAIN))
    encoded = bson.encode({"a": 1j}, codec_options=options.CodecOptions(type_registry=registry))
    assert bson.decode(encoded)["a"]["text"] == "Grüße"


class _Name(str):
    """A name of an argument, whose end is a call."""

    __slots__ = ("at_end",)
    __hash__ = str.__hash__
    at_end: Callable[[], object]

    def __del__(self) -> None:
        self.at_end()


@native
def test_names_of_arguments_that_call() -> None:
    """A call that ends within another does not change where that one's hook is."""
    orjson = _module("orjson")
    ended = []

    def hook(_: object) -> Any:
        return LazyEntity.from_bytes(serialise({"text": "t"}))

    # Calls in one module with the same names have one tuple of them.
    def at_end() -> None:
        ended.append(orjson.dumps(object(), option=0, default=lambda _: 1))

    name = _Name("no option")
    name.at_end = at_end
    with pytest.raises(TypeError):
        orjson.dumps(1, **{name: 1})
    del name
    expected = orjson.dumps({"text": "t"})
    assert orjson.dumps(object(), default=hook, option=0) == expected
    assert orjson.dumps(object(), option=0, default=hook) == expected
    assert ended == [b"1"]


def test_nothing_is_looked_into_without_an_entity() -> None:
    """In a separate process: others may hold undecoded entities."""
    pytest.importorskip("polars")
    assert answer("-c", _WITHOUT, warnings="ignore") == [0, True]


_WITHOUT = """
import json
import polars
from lazyentity import LazyEntity, search
from lazyentity.patches import adapters
from tests.support.strategies.samples import PLAIN

class Marked:
    pass

looked = []
search.children_of.register(Marked, lambda _: looked.append(1) or ())
adapters.install()
polars.Series([Marked()])
counts = [len(looked)]
entity = LazyEntity.from_bytes(PLAIN)
polars.Series([Marked()])
counts.append(len(looked) > 0)
print(json.dumps(counts))
"""
