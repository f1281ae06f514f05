"""What an application sees of the adapters: its own references, wrappers, imports and names."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import orjson
import polars
import pydantic_core
import pytest

import lazyentity
from lazyentity import LazyEntity
from lazyentity.patches import adapters
from lazyentity.storage.lazydict import live_mappings
from tests.adapters.uses import RAW
from tests.support.subprocesses import run

# Not by a global name of its own, which would be rebound.
_ORIGINALS: Any = (inspect.unwrap(orjson.dumps),)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    adapters.remove()
    assert orjson.dumps is _ORIGINALS[0]
    yield
    adapters.remove()
    assert orjson.dumps is _ORIGINALS[0]


def _lazy() -> Any:
    return LazyEntity.from_bytes(RAW)


def _expected() -> Any:
    return _ORIGINALS[0](lazyentity.to_dict(_lazy()))


def test_a_key_that_was_made_before_is_found() -> None:
    known = {orjson.dumps: 1}
    adapters.install()
    assert hash(orjson.dumps) == hash(_ORIGINALS[0])
    assert known[orjson.dumps] == 1
    assert {orjson.dumps: 1} == known
    assert orjson.dumps != orjson.loads


@pytest.mark.parametrize("name", ["orjson.dumps", "polars.from_dicts", "polars.DataFrame.__init__"])
def test_it_looks_like_the_original(name: str) -> None:
    module, _, path = name.partition(".")
    found: Any = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    adapters.install()
    made = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    assert made is not found
    assert made.__wrapped__ is found
    assert callable(made)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(made, attribute) == getattr(found, attribute), attribute
    assert inspect.signature(made) == inspect.signature(found)
    assert repr(made).endswith(">")
    assert getattr(made, "__self__", None) is getattr(found, "__self__", None)
    with pytest.raises(AttributeError):
        made.no_such_attribute  # noqa: B018  # it is asked for


def test_signatures_of_classes() -> None:
    expected = inspect.signature(polars.DataFrame)
    adapters.install()
    assert inspect.signature(polars.DataFrame) == expected


def test_pickled_by_name() -> None:
    adapters.install()
    assert pickle.loads(pickle.dumps(orjson.dumps)) is orjson.dumps


def test_bound_where_the_original_is() -> None:
    """A function of C code in a class is no method; a method is one."""
    adapters.install()

    class Own:
        dumps = orjson.dumps

    own: Any = Own()
    assert own.dumps([1]) == b"[1]"
    validator = pydantic_core.SchemaValidator(pydantic_core.core_schema.any_schema())
    bound: Any = validator.validate_python
    assert bound.__self__ is validator
    assert bound(1) == 1
    kind: Any = pydantic_core.SchemaValidator
    assert kind.validate_python(validator, 2) == 2
    assert type(bound(_lazy())["inner"]) is LazyEntity


def test_errors_are_the_originals() -> None:
    adapters.install()
    made: Any = orjson.dumps
    held = _lazy()
    for arguments in ((), (object(),)):
        with pytest.raises(TypeError) as expected:
            _ORIGINALS[0](*arguments)
        with pytest.raises(TypeError) as found:
            made(*arguments)
        assert str(found.value) == str(expected.value)
    assert lazyentity.decoded(held) == ()


def test_a_wrapper_of_before_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def own(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return _ORIGINALS[0](*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(orjson, "dumps", own)
        adapters.install()
        assert orjson.dumps([_lazy()]) == b"[" + _expected() + b"]"
        with pytest.raises(TypeError):
            orjson.dumps(object())
        assert len(calls) == 2
        adapters.remove()
        assert orjson.dumps is own


def test_a_wrapper_of_later_stays() -> None:
    adapters.install()
    inner: Any = orjson.dumps

    @functools.wraps(inner)
    def own(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    orjson.dumps = own
    try:
        assert orjson.dumps(_lazy()) == _expected()
        adapters.remove()
        assert orjson.dumps is own
        # What it calls does the work of the original.
        with pytest.raises(TypeError, match=r"Undecoded"):
            orjson.dumps(_lazy())
        adapters.install()
        assert orjson.dumps is own
        assert orjson.dumps(_lazy()) == _expected()
    finally:
        adapters.remove()
        orjson.dumps = _ORIGINALS[0]


def _module(name: str, **attributes: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(attributes)
    sys.modules[name] = made
    return made


def test_globals_of_modules_are_rebound() -> None:
    """Both those of before, and those that were imported meanwhile."""
    before = _module("of_before", dumps=_ORIGINALS[0], other=1)
    try:
        adapters.install()
        assert before.dumps is orjson.dumps is not _ORIGINALS[0]
        assert before.dumps(_lazy()) == _expected()
        assert list(adapters.unbound_references()) == []
        meanwhile = _module("of_meanwhile", dumps=orjson.dumps)
        adapters.remove()
        assert before.dumps is meanwhile.dumps is _ORIGINALS[0]
    finally:
        for name in ("of_before", "of_meanwhile"):
            sys.modules.pop(name, None)


def test_a_stub_in_place_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has neither a file nor a path, and stays as it is."""
    stub = ModuleType("orjson")
    monkeypatch.setitem(sys.modules, "orjson", stub)
    adapters.install()
    assert not hasattr(stub, "dumps")


def test_what_cannot_be_rebound_is_listed() -> None:
    def default(value: Any, dumps: Any = _ORIGINALS[0]) -> Any:
        return dumps(value)

    class Own:
        dumps = staticmethod(_ORIGINALS[0])

    Own.__module__ = "of_before"
    _module(
        "of_before", default=default, Own=Own, made=functools.partial(_ORIGINALS[0], option=None)
    )
    try:
        adapters.install()
        found = set(adapters.unbound_references())
    finally:
        del sys.modules["of_before"]
    assert found == {(f"of_before.{name}", "orjson.dumps") for name in ("default", "Own", "made")}


def test_reloaded_and_imported_again() -> None:
    """In another process: the library does not survive it everywhere."""
    program = """
import importlib, sys, lazyentity, orjson, polars.convert.general as general
from lazyentity.patches import adapters
from tests.adapters.uses import RAW
adapters.install()
def check(dumps, from_dicts):
    lazy = lazyentity.LazyEntity.from_bytes(RAW)
    assert b"value" in dumps(lazy, default=lambda _: None) and b"null" not in dumps(lazy), "orjson"
    frame = from_dicts([lazyentity.LazyEntity.from_bytes(RAW)])
    assert frame["inner"].to_list() == [{"deep": "value"}], frame
check(orjson.dumps, general.from_dicts)
importlib.reload(orjson)
check(orjson.dumps, importlib.reload(general).from_dicts)
for name in [name for name in sys.modules if name.partition(".")[0] == "orjson"]:
    del sys.modules[name]
import orjson as again
check(again.dumps, general.from_dicts)
adapters.remove()
assert not hasattr(again.dumps, "__wrapped__") and not hasattr(general.from_dicts, "__wrapped__")
"""
    finished = run("-c", program)
    assert finished.returncode == 0, finished.stderr


def test_a_library_that_is_imported_later() -> None:
    program = """
import lazyentity
from lazyentity.patches import adapters
from tests.adapters.uses import RAW
lazyentity.patch("datastore")
from orjson import dumps
import orjson
assert b"value" in dumps(lazyentity.LazyEntity.from_bytes(RAW))
lazyentity.unpatch()
assert dumps is orjson.dumps and not hasattr(dumps, "__wrapped__")
lazyentity.patch("datastore")
assert dumps is orjson.dumps and hasattr(dumps, "__wrapped__")
"""
    finished = run("-c", program)
    assert finished.returncode == 0, finished.stderr


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYENTITY_ADAPTERS", "0")
    adapters.install()
    assert orjson.dumps is _ORIGINALS[0]


# The count of lazy mappings.


def test_counted_while_they_are_alive() -> None:
    before = live_mappings()
    entities = [_lazy() for _ in range(50)]
    assert live_mappings() == before + 50
    # Each embedded entity is one, too.
    assert entities[0]["inner"] is not None
    assert live_mappings() == before + 51
    made = LazyEntity()
    assert live_mappings() == before + 52
    del made
    entities.clear()
    assert live_mappings() == before


def test_never_too_low_with_threads() -> None:
    """Mappings that threads make and drop at once are counted exactly."""
    before = live_mappings()
    kept: list[Any] = []

    def work() -> None:
        for number in range(300):
            entity = _lazy()
            entity["inners"]
            if number % 100 == 0:
                kept.append(entity)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # With the two embedded entities of each.
    assert live_mappings() == before + 3 * len(kept) == before + 72
    kept.clear()
    assert live_mappings() == before


def test_with_none_alive_nothing_is_looked_at() -> None:
    program = """
import lazyentity.search, orjson, sys
from lazyentity.patches import adapters
adapters.install()
looked = []
for module in ("lazyentity.search", "lazyentity.native.adapting", adapters.__name__ + ".adapted"):
    space = vars(sys.modules.get(module, lazyentity.search))
    for name in ("decode_in_place", "decode_in_any", "fields_of"):
        if name in space:
            space[name] = looked.append
class Own(dict):
    pass
assert orjson.dumps([Own(x=1)]) == b'[{"x":1}]' and looked == []
"""
    finished = run("-c", program)
    assert finished.returncode == 0, finished.stderr
