"""Adapted libraries do for everything else what they did: classes, iterators, foreign objects."""

from __future__ import annotations

import functools
import json
import pickle
import types
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn
from unittest import mock
from xml.etree import ElementTree

import pytest
import wrapt

import lazyentity
from lazyentity import LazyEntity, search
from lazyentity._mode import is_eager
from lazyentity.patches import adapters
from lazyentity.patches.adapters import holders
from lazyentity.search import decode_in_place, decoded_in_place
from tests.adapters.uses import installed
from tests.support.concurrency import switching_often, together
from tests.support.forks import answer
from tests.support.snapshots import outcome
from tests.support.strategies.samples import PLAIN, RICH, serialise

pydantic = pytest.importorskip("pydantic")


@pytest.fixture(autouse=True)
def _patched() -> Iterator[None]:
    lazyentity.patch()
    yield
    lazyentity.unpatch()


def test_elements_of_xml() -> None:
    element = ElementTree.Element("a", {"b": "c"})
    assert type(element) is ElementTree.Element
    assert pickle.loads(pickle.dumps(element)).attrib == {"b": "c"}


def test_iterators_are_read_once() -> None:
    """Pyarrow may have consumed an iterator by the time that it meets a sentinel."""
    pyarrow = pytest.importorskip("pyarrow")
    one_type = serialise({"a": 1, "b": 2})
    assert len(pyarrow.array(LazyEntity.from_bytes(one_type) for _ in range(3))) == 3
    assert len(pyarrow.array(iter([LazyEntity.from_bytes(one_type), {"a": 1}]))) == 2


def test_data_of_arrow_is_not_searched() -> None:
    """Nor are the classes of the data, unless they are Python code."""
    pyarrow = pytest.importorskip("pyarrow")

    class Extension(pyarrow.ExtensionType):  # type: ignore[name-defined,misc]  # imported above
        def __init__(self) -> None:
            super().__init__(pyarrow.int64(), "tests.extension")
            self.held = LazyEntity.from_bytes(PLAIN)

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

    numbers = pyarrow.array([1, 2])
    with mock.patch.object(search, "instance_dict") as searched:
        for data in (pyarrow.large_string(), numbers, pyarrow.chunked_array([numbers])):
            assert not decode_in_place(data)
    searched.assert_not_called()
    kind = Extension()
    assert decode_in_place(kind)
    assert kind.held._undecoded() == []


def test_generators_are_relayed() -> None:
    def generate() -> Any:
        got = yield LazyEntity.from_bytes(PLAIN)
        try:
            yield got
        except KeyError:
            yield "thrown"
        return "returned"

    relayed = decoded_in_place(generate())
    assert isinstance(relayed, types.GeneratorType)
    assert next(relayed)._undecoded() == []
    assert relayed.send(5) == 5
    assert relayed.throw(KeyError()) == "thrown"
    with pytest.raises(StopIteration) as stop:
        next(relayed)
    assert stop.value.value == "returned"


class PassesForDict:
    __class__ = dict  # type: ignore[assignment]  # as proxies of frameworks say


class Refuses:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("not bound")


class Drained(list[Any]):
    def __iter__(self) -> Any:
        while self:
            yield self.pop(0)


@pytest.mark.parametrize("make", [PassesForDict, Refuses, lambda: Drained([1, 2])])
def test_foreign_objects_are_left_alone(make: Any) -> None:
    """The walk runs no code of theirs, or at least lets no error of it out."""
    value = make()
    assert not decode_in_place([value, {"in": value}])
    assert pydantic.TypeAdapter(Any).validate_python([value])[0] is value
    if type(value) is Drained:
        assert len(value) == 2


@pytest.mark.parametrize(
    "call", [ElementTree.tostring, lambda value: pytest.importorskip("bson").encode(value)]
)
def test_attributes_of_foreign_objects_are_not_read(call: Any) -> None:
    """The adapters read none beside those that the library reads."""
    read: list[str] = []
    foreign = type("Foreign", (), {"__getattribute__": lambda _, name: read.append(name)})
    undecoded = LazyEntity.from_bytes(RICH)
    adapters.remove()
    outcome(call, foreign())
    stock, read[:] = list(read), []
    with installed():
        outcome(call, foreign())
    assert read == stock != []
    assert undecoded._undecoded()


def test_inside_a_proxy_of_a_dict() -> None:
    entity = LazyEntity.from_bytes(RICH)
    assert decode_in_place(types.MappingProxyType({"entity": entity}))
    assert entity._undecoded() == []


def test_entities_that_threads_share() -> None:
    """A call that failed is made again also where another thread has decoded meanwhile."""
    dumps = pytest.importorskip("orjson").dumps
    for _ in range(100):
        shared = [LazyEntity.from_bytes(PLAIN)]
        expected = [dict(LazyEntity.from_bytes(PLAIN))]
        with switching_often():
            done = together(4, functools.partial(lambda value, _: dumps(value), shared))
        assert [json.loads(each) for each in done] == [expected] * 4


def test_a_library_that_another_thread_is_importing() -> None:
    """patch() waits for it without a lock that the other thread needs."""
    assert answer("-c", _IMPORTED_SLOWLY, warnings="ignore") == "patched"


_IMPORTED_SLOWLY = """
import importlib.machinery, json, sys, threading, time
import lazyentity
import google.cloud.datastore

class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name != "pydantic":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def slowly(module):
            began.set()
            time.sleep(0.5)
            execute(module)

        spec.loader.exec_module = slowly
        return spec

began = threading.Event()
sys.meta_path.insert(0, Slowly())
threads = [threading.Thread(target=work, daemon=True) for work in (
    lambda: __import__("pydantic"), lazyentity.patch
)]
threads[0].start()
assert began.wait(60)
threads[1].start()
for thread in threads:
    thread.join(60)
hang = any(thread.is_alive() for thread in threads)
print(json.dumps("hangs" if hang else "patched"), flush=True)
"""


def test_strings_are_validated() -> None:
    text: Any = pydantic.create_model("Text", text=(str, ...))
    for validate in (text.model_validate_strings, pydantic.TypeAdapter(text).validate_strings):
        assert validate(LazyEntity.from_bytes(PLAIN)).text


def test_models_in_models_are_not_looked_into() -> None:
    """Pydantic takes models for valid: what is built of models costs what it costs in stock."""
    model: Any = pydantic.create_model("Chain", held=(Any, None))
    # Without any, nothing is looked into.
    undecoded = LazyEntity.from_bytes(PLAIN)
    marked = type("Marked", (), {})
    look = mock.Mock(return_value=())
    search.children_of.register(marked, look)
    chain = functools.reduce(lambda held, _: model(held=held), range(51), marked())
    assert look.call_count <= 3
    assert not decode_in_place(chain)
    assert look.call_count >= 2
    assert undecoded._undecoded()


def test_fields_of_a_model_are_looked_into() -> None:
    """By from_attributes one model is made of another, and of the entities in it."""
    config = pydantic.ConfigDict(from_attributes=True)
    public = pydantic.create_model("Public", __config__=config, text=(str, ...))
    shown: Any = pydantic.create_model("Shown", __config__=config, entity=(public, ...))
    holder = pydantic.create_model("Holder", entity=(Any, None))
    made = holder.model_construct(entity=LazyEntity.from_bytes(PLAIN))
    assert shown.model_validate(made).entity.text


def test_children_of_xml_do_not_look_at_their_parents() -> None:
    parent = ElementTree.Element("parent")
    held = mock.Mock(side_effect=search.children_of.dispatch(ElementTree.Element))
    with mock.patch.object(search, "_children_of", held):
        for _ in range(100):
            ElementTree.SubElement(parent, "child", {"a": "b"})
    assert not held.called


def test_eager_reads_need_no_adapters() -> None:
    lazyentity.unpatch()
    lazyentity.patch(eager=True)
    assert not isinstance(ElementTree.SubElement, wrapt.ObjectProxy)


def _shout(value: Any) -> Any:
    if value == "refused":
        raise ValueError("it is refused")
    return value.upper()


def _handled(value: Any, handler: Any) -> Any:
    return [repr(handler).partition("(")[0], handler(value)]


def _with_functions() -> Any:
    shouted = Annotated[str, pydantic.BeforeValidator(_shout)]
    handled = Annotated[Any, pydantic.WrapValidator(_handled), pydantic.WrapSerializer(_handled)]
    fields: Any = {
        "type": (shouted | int, ...),
        "default": (handled, 1),
        "values": (Annotated[list[str], pydantic.AfterValidator(sorted)], ["b", "a"]),
        "made": (list[int], pydantic.Field(default_factory=list)),
    }
    return pydantic.create_model("Made", **fields)


def _described(model: Any) -> Any:
    """Return what an application can see of the functions in a model."""
    with pytest.raises(pydantic.ValidationError) as error:
        model(type="refused")
    found = model(type="text", default="x", values=["d", "c"])
    return (
        error.value.errors(include_url=False, include_context=False),
        found.model_dump(),
        found.model_dump_json(),
        model.model_json_schema(),
        model.model_json_schema(mode="serialization"),
        model(type="more").model_dump(),
    )


def test_functions_of_the_application_are_called_as_ever() -> None:
    """Names in errors, handlers and schemas are those that they are without lazyentity."""
    adapted = _described(_with_functions())
    lazyentity.unpatch()
    assert adapted == _described(_with_functions())


def test_unpatched_functions_give_what_they_return() -> None:
    entity = LazyEntity.from_bytes(PLAIN)
    validator = pydantic.PlainValidator(lambda _: entity)
    adapter = pydantic.TypeAdapter(Annotated[Any, validator])
    adapters.remove()
    assert adapter.validate_python(1) is entity
    assert entity._undecoded() != []


def test_reads_inside_are_eager_and_others_are_not() -> None:
    """In models made before as well; the functions of validate_call are not inside."""
    adapters.remove()
    model = pydantic.create_model(
        "Made", value=(Annotated[Any, pydantic.PlainValidator(lambda _: is_eager())], ...)
    )
    called = pydantic.validate_call(lambda value: is_eager())
    adapter = pydantic.TypeAdapter(model)
    assert not model(value=1).value
    lazyentity.patch()
    assert model(value=1).value
    assert model.model_validate({"value": 1}).value
    assert model.model_validate_json('{"value": 1}').value
    assert adapter.validate_python({"value": 1}).value
    assert adapter.validate_json('{"value": 1}').value
    assert not called(1)
    assert not is_eager()


class _Hostile(type):
    def __getattribute__(cls, name: str) -> NoReturn:
        raise RuntimeError(name)


@pytest.mark.any_backend
def test_a_metaclass_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for classes that hold a replaced function runs no code of the application."""

    def function() -> None:
        """Is replaced."""

    module: Any = types.ModuleType("application")
    module.Model = _Hostile("Model", (), {"__module__": "application", "method": function})
    monkeypatch.setattr(holders, "loaded_modules", lambda: [("application", module)])
    found = holders.objects_holding({id(function)}, ())
    assert found == {id(function): ["application.Model"]}
