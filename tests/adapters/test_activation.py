"""When adapters are installed, and what is left when they are removed."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from typing import Any

import pytest
import wrapt
from google.cloud import datastore

import lazyentity
from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS
from lazyentity.patches import adapters
from lazyentity.patches.adapters import libraries
from lazyentity.patches.adapters.calls import CallSeam
from lazyentity.patches.adapters.reading import Reading
from tests.adapters.test_identity import WITH_VECTORCALL, seams
from tests.support import subprocesses
from tests.support.forks import answer, run
from tests.support.strategies.samples import PLAIN

orjson = pytest.importorskip("orjson")

_ENTITY = f"import lazyentity; e = lazyentity.LazyEntity.from_bytes({PLAIN!r}); "
_WORKS = "e['text'] == orjson.loads(orjson.dumps(e))['text']"


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    adapters.remove()
    yield
    lazyentity.unpatch()
    adapters.remove()


def _standing() -> dict[str, tuple[Any, Any]]:
    """Return what stands at every seam of every adapter whose library is there, and the seam."""
    modules: dict[str, set[str]] = {}
    for library in libraries.LIBRARIES:
        for module in library.modules if library.adapter else ():
            pytest.importorskip(module)
            modules.setdefault(str(library.adapter), set()).add(module)
    for name, declared in modules.items():
        adapter = importlib.import_module(f"{adapters.__name__}.{name}")
        assert {seam.module for seam in adapter.SEAMS} <= declared
    found = {}
    for seam in seams():
        parent, attribute, _ = wrapt.resolve_path(seam.module, seam.path)
        found[str(seam)] = vars(parent)[attribute], seam
    return found


def _same(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    return first.keys() == second.keys() and all(
        first[name][0] is second[name][0] for name in first
    )


def _stays(original: Any, seam: Any) -> bool:
    """Say whether a callable stays the same object when it is adapted.

    Callables of C code do, and functions of Python's whose replacement needs no attribute.
    """
    if isinstance(seam, Reading):
        return True
    if type(original) is types.FunctionType:
        return type(seam) is CallSeam
    if not SLOTS:
        # Constructors have no replacement.
        return type(original) is types.WrapperDescriptorType
    if type(original) is types.MethodDescriptorType:
        # Inherited from one of Python's own types.
        return original.__objclass__ is not type
    # Of Cython and nanobind, by their names: each library defines these types.
    return (
        type(original) in (types.BuiltinFunctionType, types.WrapperDescriptorType)
        or type(original).__name__ in WITH_VECTORCALL
    )


@pytest.mark.filterwarnings("ignore")
def test_originals_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """By identity, however often; and no module's part stays while another's goes."""
    originals = _standing()
    for _ in range(2):
        lazyentity.patch()
        patched = _standing()
        for name, (original, seam) in originals.items():
            assert (patched[name][0] is original) is _stays(original, seam), name
        lazyentity.patch()
        assert _same(_standing(), patched)
        lazyentity.unpatch()
        # For entities that were read before.
        assert _same(_standing(), patched)
        adapters.remove()
        assert _same(_standing(), originals)
    monkeypatch.setenv("LAZYENTITY_ADAPTERS", "0")
    lazyentity.patch()
    assert _same(_standing(), originals)


@pytest.mark.filterwarnings("ignore")
def test_they_stay_for_entities_that_are_kept() -> None:
    assert not _decodes()
    lazyentity.patch()
    assert _decodes()
    lazyentity.unpatch()
    assert _decodes()


@pytest.mark.parametrize(
    ("program", "are_there"),
    [
        ("", False),
        ("lazyentity.patch(); lazyentity.unpatch()", False),
        ("import google.cloud.datastore; lazyentity.patch(); lazyentity.unpatch()", True),
        ("lazyentity.patch(); import google.cloud.datastore; lazyentity.unpatch()", True),
        ("from lazyentity import LazyEntity", True),
        ("lazyentity.detach", True),
        ("import google.cloud.datastore; lazyentity.patch(eager=True)", True),
        ("from lazyentity import patches", False),
    ],
)
def test_they_come_with_the_first_class_of_lazy_objects(program: str, are_there: bool) -> None:
    """And stay while there may be an instance; without such a class, nothing of them stays."""
    assert _adapts(f"import lazyentity; {program}") is are_there


@pytest.mark.parametrize("name", ["LAZYENTITY_DISABLE", "LAZYENTITY_EAGER"])
def test_without_lazy_entities_none_come(name: str) -> None:
    program = "from lazyentity import LazyEntity"
    assert _adapts(program) is True
    assert _adapts(program, **{name: "1"}) is False


def _adapts(program: str, **environment: str) -> bool:
    """Say whether a library that is imported after a program is adapted."""
    said = "import json, orjson, sys; adapter = 'lazyentity.patches.adapters.rows'"
    shown = "print(json.dumps(adapter in sys.modules))"
    return bool(answer("-c", f"{program}\n{said}\n{shown}", **environment))


def _told(program: str) -> str:
    """Run a program, which must not fail; return what it wrote to its standard error."""
    finished = run("-c", program)
    assert finished.returncode == 0, finished.stderr
    return finished.stderr


def _decodes() -> bool:
    """Say whether orjson gets decoded entities."""
    try:
        return bool(orjson.dumps(LazyEntity.from_bytes(PLAIN)))
    except TypeError:
        return False


@pytest.mark.filterwarnings("ignore")
def test_wrap_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does what a wrapped client reads after somebody else's unpatch()."""
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    assert not _decodes()
    client = datastore.Client(project="p", credentials=None, _http=object(), _use_grpc=False)
    wrapped = lazyentity.wrap(client)
    assert _decodes()
    adapters.remove()
    assert not _decodes()
    wrapped.query(kind="K").fetch()
    assert _decodes()


@pytest.mark.parametrize(
    "program",
    [
        "import lazyentity.auto; import orjson; ",
        "import orjson; import lazyentity.auto; ",
        "import lazyentity; lazyentity.patch(); lazyentity.unpatch(); import orjson; "
        "lazyentity.patch(); ",
        "import lazyentity.auto; import lazyentity; lazyentity.unpatch(); lazyentity.patch(); "
        "import orjson; ",
    ],
)
def test_in_either_order(program: str) -> None:
    assert answer("-c", f"{program}{_ENTITY}import json; print(json.dumps({_WORKS}))") is True


@pytest.mark.parametrize("function", ["orjson.dumps", "pyarrow.array"])
def test_old_references_are_served_or_named(function: str) -> None:
    module, _, name = function.partition(".")
    pytest.importorskip(module)
    program = (
        f"from {module} import {name}; import lazyentity.auto; import functools; {_ENTITY}"
        f"assert not {SLOTS} or len(functools.partial({name})([e['inner']])) > 0"
    )
    named = _told(program).count(f"imported {function} by name before: __main__")
    assert named == (0 if SLOTS else 1)
    assert _told(f"import {module}; import lazyentity.auto") == ""


def test_functions_taken_before_are_served_or_named() -> None:
    """As a name, a class attribute, a default argument and in a partial; methods when bound."""
    served, warned = answer("-m", "tests.adapters.taken_program", warnings="ignore")
    assert served["TypeAdapter.dump_json"] == dict.fromkeys(served["orjson.dumps"], True)
    texts = "\n".join(warned)
    for name, ways in served.items():
        assert len(ways) == 4
        assert len({*ways.values()}) == 1
        is_named = f"imported {name} by name before: __main__;" in texts
        assert is_named is not ways["name"]
        kept = f"kept {name} in a class, a default argument or a functools.partial before: "
        holders = "__main__.Attributes, __main__.defaults"
        assert (f"{kept}{holders}" in texts) is is_named
    for name, attribute in (("orjson.dumps", "partial_dumps"), ("pyarrow.array", "partial_array")):
        if name in served:
            assert (f"__main__.{attribute};" in texts) is not served[name]["partial"]
    if SLOTS:
        assert all(ways["name"] for ways in served.values())


def test_old_encoders_are_served() -> None:
    pytest.importorskip("msgspec")
    program = (
        "import msgspec.json; encoder = msgspec.json.Encoder(); encode = encoder.encode; "
        f"import lazyentity.auto, json; {_ENTITY}"
        "assert json.loads(encoder.encode(e))['text'] == e['text']"
    )
    assert _told(program) == ""


def test_nothing_is_imported_for_nothing() -> None:
    """An application that imports none of the libraries does not import their adapters either."""
    program = "import lazyentity.auto, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = subprocesses.answer("-c", program)
    ours = {name for name in loaded if name.startswith("lazyentity.patches.adapters.")}
    assert ours <= {"lazyentity.patches.adapters.libraries"}
    roots = {name.partition(".")[0] for each in libraries.LIBRARIES for name in each.modules}
    assert not roots & {name.partition(".")[0] for name in loaded} - {"google", "xml"}


@pytest.mark.parametrize("imported_first", [True, False])
def test_untested_versions_are_told_once(imported_first: bool) -> None:
    program = (
        "from importlib import metadata; real = metadata.version; "
        "metadata.version = lambda name: '99.0' if name == 'orjson' else real(name); "
        + ("import orjson; " if imported_first else "")
        + "import lazyentity.auto, lazyentity, orjson; lazyentity.unpatch(); lazyentity.patch(); "
        + f"{_ENTITY} assert {_WORKS}"
    )
    assert _told(program).count("orjson 99.0 is not among the versions") == 1


def test_all_or_nothing() -> None:
    """A library that lacks something stays as it is, as a whole, and that is told once."""
    program = (
        "import msgspec, msgspec.json; convert = msgspec.convert; encode = msgspec.json.encode; "
        "del msgspec.msgpack.encode; import lazyentity.auto; "
        "assert msgspec.convert is convert and msgspec.json.encode is encode"
    )
    pytest.importorskip("msgspec")
    assert _told(program).count("cannot be adapted") == 1


def test_replacements_pass_for_originals() -> None:
    """Also where they are pickled, or are attributes of a class."""
    program = (
        "import lazyentity.auto, orjson, pickle, inspect; "
        "assert pickle.loads(pickle.dumps(orjson.dumps)) is orjson.dumps; "
        "Encoder = type('Encoder', (), {'dumps': orjson.dumps}); "
        "assert Encoder().dumps([1]) == b'[1]'; "
        "assert inspect.isbuiltin(orjson.dumps) and orjson.dumps.__name__ == 'dumps'"
    )
    _told(program)


def test_polars_without_numpy() -> None:
    """The library does not require it."""
    pytest.importorskip("polars")
    program = (
        "import json, sys; sys.modules['numpy'] = None; "
        "import lazyentity, polars; lazyentity.patch(); "
        "from tests.support.strategies.samples import serialise; "
        "entity = lazyentity.LazyEntity.from_bytes(serialise({'text': 't'})); "
        "print(json.dumps(polars.DataFrame([entity]).rows()))"
    )
    assert answer("-c", program, warnings="error::RuntimeWarning") == [["t"]]
