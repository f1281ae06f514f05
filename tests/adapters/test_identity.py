"""An adapter changes no type, identity or signature that its library or others can see."""

from __future__ import annotations

import importlib
import inspect
import io
import pickle
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
import wrapt

from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS
from lazyentity.patches import adapters
from lazyentity.patches.adapters.libraries import LIBRARIES
from lazyentity.patches.registry import Seam
from tests.adapters.uses import installed
from tests.support.strategies.samples import PLAIN

WITH_VECTORCALL = ("cython_function_or_method", "nb_func", "nb_method")
"""The types of functions of Cython and nanobind: the native backend replaces a pointer in each."""

# The attribute is a proxy of the function.
_BY_PROXY = ("instancemethod",) if SLOTS else ("instancemethod", *WITH_VECTORCALL)


def seams() -> Iterator[Seam]:
    """Yield the seams of the adapters whose libraries are installed."""
    for library in LIBRARIES:
        if library.adapter is None:
            continue
        try:
            for module in library.modules:
                importlib.import_module(module)
        except ImportError:
            continue
        adapter = importlib.import_module(f"{adapters.__name__}.{library.adapter}")
        yield from (seam for seam in adapter.SEAMS if seam.module in library.modules)


SEAMS = {str(seam): seam for seam in seams()}


def _visible(seam: Seam) -> dict[str, Any]:
    """Return what others can see of a callable of a library, and of the class that it is in."""
    holder, name, _ = wrapt.resolve_path(seam.module, seam.path)
    found = vars(holder).get(name, getattr(holder, name))
    function = found.__func__ if isinstance(found, classmethod) else found
    try:
        signature = str(inspect.signature(function))
    except ValueError:
        signature = "none"
    names = "__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__"
    tests: tuple[Callable[[Any], object], ...] = (
        inspect.isfunction,
        inspect.isbuiltin,
        inspect.isclass,
        inspect.ismethoddescriptor,
        inspect.isroutine,
        inspect.iscoroutinefunction,
    )
    return {
        "type": type(found),
        "type of the function": type(function),
        "holder": id(holder),
        "type of the holder": type(holder),
        "attributes of the holder": set(vars(holder)) - {"__warningregistry__"},
        "signature": signature,
        **{name: getattr(function, name, None) for name in names},
        **{test.__name__: test(function) for test in tests},
    }


States = list[dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def states() -> States:
    """Return what others see of each callable before, while and after it has an adapter."""

    def visible() -> dict[str, dict[str, Any]]:
        return {name: _visible(seam) for name, seam in SEAMS.items()}

    adapters.remove()
    before = visible()
    with installed():
        adapted = visible()
    return [before, adapted, visible()]


@pytest.mark.parametrize("name", SEAMS)
def test_of_each_callable(name: str, states: States) -> None:
    seam = SEAMS[name]
    stock, adapted, after = (dict(state[name]) for state in states)
    assert after == stock
    own = stock["type of the function"]
    if own.__name__ in _BY_PROXY:
        # Everything but type() says what it said.
        for each in ("type", "type of the function", "ismethoddescriptor", "isroutine"):
            del stock[each], adapted[each]
    elif seam.path == "ModelMetaclass.__instancecheck__" and own is not types.FunctionType:
        # A method of Python's own type, which must not change: the metaclass gets a new method.
        assert adapted["holder"] == stock["holder"]
        return
    elif not SLOTS and own in (types.BuiltinFunctionType, types.MethodDescriptorType):
        # The pure backend has functions of Python's.
        same = ("holder", "__name__", "__doc__", "type of the holder", "attributes of the holder")
        assert {each: stock[each] for each in same} == {each: adapted[each] for each in same}
        return
    elif own is type:
        # A name inside of pydantic, on the pure backend.
        assert not SLOTS
        return
    assert adapted == stock


_CLASSES = {
    "xml.etree.ElementTree.TreeBuilder": (),
    "xml.etree.ElementTree.Element": ("tag",),
    "msgspec.json.Encoder": (),
    "msgspec.msgpack.Encoder": (),
    "cbor2.CBOREncoder": (io.BytesIO(),),
    "rapidjson.Encoder": (),
    "lru.LRU": (3,),
    "immutables.Map": (),
    "pydantic_core.SchemaSerializer": ({"type": "any"},),
    "pydantic_core.SchemaValidator": ({"type": "any"},),
}


@pytest.mark.parametrize("name", _CLASSES)
def test_of_each_class(name: str) -> None:
    """The class is the same object; its instances are exactly of it; it can be what it could be."""
    module, _, path = name.rpartition(".")
    pytest.importorskip(module.partition(".")[0])
    adapters.remove()
    kind = getattr(importlib.import_module(module), path)
    before = kind(*_CLASSES[name])
    able = _able(kind)
    with installed():
        assert getattr(importlib.import_module(module), path) is kind
        made = kind(*_CLASSES[name])
        assert type(made) is type(before) is kind
        assert isinstance(before, kind)
        assert _able(kind) == able
    assert type(kind(*_CLASSES[name])) is kind


def _able(kind: type) -> tuple[bool, ...]:
    """Say whether a class can be subclassed, pickled, matched, and referred to weakly."""

    def match() -> None:
        matcher: Any = kind
        match object():
            case matcher():
                raise AssertionError

    def pickled() -> None:
        assert pickle.loads(pickle.dumps(kind)) is kind

    def succeeds(act: Callable[[], object]) -> bool:
        try:
            act()
        except Exception:  # noqa: BLE001  # whatever it is
            return False
        return True

    acts = lambda: type("Sub", (kind,), {}), pickled, match, lambda: weakref.ref(kind)
    return tuple(map(succeeds, acts))


_XML = b"<root><child name='a'>text</child><child/></root>"


def test_parsers_of_xml() -> None:
    """They ask for the exact class of their builder."""
    with installed():
        events = [
            (event, element.tag)
            for event, element in ElementTree.iterparse(  # noqa: S314  # the test's own
                io.BytesIO(_XML), ("start", "end")
            )
        ]
        parser: Any = ElementTree.XMLPullParser(("end",))
        parser.feed(_XML)
        pulled = [element.tag for _, element in parser.read_events()]
    assert events[0] == ("start", "root")
    assert pulled == ["child", "child", "root"]


def test_subclasses_of_builders() -> None:
    """Subclasses made before, while adapted, and after; each with or without an override."""

    def make() -> list[type]:
        class Plain(ElementTree.TreeBuilder):
            pass

        class Own(ElementTree.TreeBuilder):
            def start(self, tag: Any, attrs: Any, /) -> Any:
                return super().start(f"own {tag}", attrs)

        return [Plain, Own]

    adapters.remove()
    before = make()
    with installed():
        for kind in (*before, *make()):
            entity = LazyEntity.from_bytes(PLAIN)
            assert kind().start("tag", entity).get("text") == "Grüße"
    for kind in (*before, *make()):
        assert kind().start("tag", {"a": "b"}).get("a") == "b"


def test_subclasses_of_encoders() -> None:
    """A class inherits the C function of ``__call__`` when it is made."""
    rapidjson = pytest.importorskip("rapidjson")
    if not SLOTS:
        pytest.skip("the pure backend has no adapter for it")
    adapters.remove()
    before = type("Before", (rapidjson.Encoder,), {})
    inner = type("Inner", (before,), {})
    own = type("Own", (before,), {"__call__": lambda self, value: f"own {value}"})
    with installed():
        during = type("During", (rapidjson.Encoder,), {})
        for kind in (before, inner, during):
            assert "Gr" in kind()(LazyEntity.from_bytes(PLAIN))
        assert own()(1) == "own 1"
        assert rapidjson.Encoder.__call__(before(), LazyEntity.from_bytes(PLAIN))
    after = type("After", (rapidjson.Encoder,), {})
    for kind in (before, inner, during, after):
        with pytest.raises(TypeError):
            kind()(LazyEntity.from_bytes(PLAIN))


def test_bound_methods_that_are_kept() -> None:
    """From before, and from while the adapter was there: they do what the class does."""
    msgspec = pytest.importorskip("msgspec")
    adapters.remove()
    encoder = msgspec.json.Encoder()
    before = encoder.encode
    with installed():
        during = encoder.encode
        assert during(LazyEntity.from_bytes(PLAIN))
        assert before([1]) == b"[1]"
    assert during([1]) == b"[1]"
    assert before([1]) == b"[1]"


def test_a_workbook() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"] = "text"
    saved = io.BytesIO()
    with installed():
        book.save(saved)
        assert openpyxl.load_workbook(saved).active["A1"].value == "text"


def test_arguments_and_errors_are_those_of_the_function() -> None:
    """For each calling convention of C functions."""
    orjson = pytest.importorskip("orjson")
    msgspec = pytest.importorskip("msgspec")

    builder: Any = ElementTree.TreeBuilder

    def described() -> list[str]:
        said = []
        acts: list[Callable[[], object]] = [
            lambda: orjson.dumps(),
            lambda: orjson.dumps([1], None, option=orjson.OPT_INDENT_2),
            lambda: orjson.dumps([1], nosuch=1),
            lambda: msgspec.json.encode([1], order="sorted"),
            lambda: msgspec.json.encode(),
            lambda: msgspec.json.Encoder().encode(),
            lambda: msgspec.json.Encoder.encode(1, 2),
            lambda: builder().start("tag"),
            lambda: builder().start("tag", {}, 1),
            lambda: builder().start("tag", attrs={}),
        ]
        for act in acts:
            try:
                said.append(repr(act()))
            except Exception as error:  # noqa: BLE001  # whatever it is
                said.append(f"{type(error).__name__}: {error}")
        return said

    adapters.remove()
    stock = described()
    with installed():
        assert described() == stock
