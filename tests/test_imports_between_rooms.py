"""Which rooms of the package import which: the arrows go down, and no client knows another."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazyentity.patches.clients import CLIENTS, PACKAGES
from tools.clients import REQUIRED

ROOT = Path(__file__).parents[1]
# Where each folder of the checkout lands in the package.
FOLDERS = {"lazyentity": "lazyentity", "patches": "lazyentity.patches", "bench": "lazyentity.bench"}

_CYTHON = re.compile(
    r"^\s*(?:from\s+(?P<package>[\w.]+)\s+c?import\s+(?P<names>\([^)]*\)|[^\n]*)|c?import\s+(?P<modules>[^\n]*))",
    re.MULTILINE,
)
_DYNAMIC = re.compile(r"import_module\(\s*f?[\"'](lazyentity[\w.]*)")


def _named(package: str, names: str) -> Iterator[str]:
    for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", names.split("#")[0].strip("() ")):
        yield f"{package}.{name}"


def _imports_of_python(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # A relative import stays in its room, unless it begins with two dots.
            assert node.level < 2
            if node.level == 0:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _imports_of_cython(source: str) -> Iterator[str]:
    for found in _CYTHON.finditer(source):
        if found["package"]:
            yield from _named(found["package"], found["names"])
        else:
            yield from re.findall(r"[\w.]+", found["modules"].split(" as ")[0])


def _imports(path: Path) -> set[str]:
    source = path.read_text(encoding="utf-8")
    is_cython = path.suffix in (".pyx", ".pxd")
    found = set((_imports_of_cython if is_cython else _imports_of_python)(source))
    return {name for name in found | set(_DYNAMIC.findall(source)) if _is_ours(name)}


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "lazyentity"


def _module(folder: str, path: Path) -> str:
    parts = path.relative_to(ROOT / folder).with_suffix("").parts
    return ".".join([FOLDERS[folder], *parts]).removesuffix(".__init__")


def _is_in(name: str, *rooms: str) -> bool:
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


@functools.cache
def every_arrow() -> list[tuple[str, str]]:
    """Return each module with a name that it imports."""
    return sorted(
        (_module(folder, path), imported)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.p*")
        if path.suffix in (".py", ".pyi", ".pyx", ".pxd")
        for imported in _imports(path)
    )


def _arrows(importer: str, *imported: str) -> set[tuple[str, str]]:
    """Return the imports that modules of the room ``importer`` make from the rooms ``imported``."""
    return {
        (module, name)
        for module, name in every_arrow()
        if _is_in(module, importer) and _is_in(name, *imported)
    }


def _importers(*rooms: str) -> set[str]:
    """Return the modules outside of rooms that import from them."""
    importers = {module for module, _ in _arrows("lazyentity", *rooms)}
    # Otherwise nothing was shown.
    assert importers
    return {module for module in importers if not _is_in(module, *rooms)}


def test_imports_are_found() -> None:
    """Of Python and of Cython, in several lines, of names and of modules."""
    assert {
        ("lazyentity.native.documentreader", "lazyentity.native.entities.decode_bare"),
        ("lazyentity.native.responses", "lazyentity.codec.shadow"),
        ("lazyentity.native.entityproto", "lazyentity.native.entities.Shape"),
        ("lazyentity.pure.mapping", "lazyentity.codec.encodable.Changes"),
        ("lazyentity.auto", "lazyentity.patch"),
        ("lazyentity.patches.guard", "lazyentity.patches.imports.wrapt"),
    } <= set(every_arrow())


ROOMS_ABOVE = tuple(
    f"lazyentity.{room}" for room in ("patches", "bench", "bulk", "packed", "snapshot", "cli")
)


COUNTING = tuple(f"profiling.{module}" for module in ("observer", "callsites", "counters"))
"""The half of the profile that counts; the other half makes reports."""


def test_the_core_knows_no_patches() -> None:
    """Only the package itself, which offers patch(), does.

    So does a module that offers something of a client: ``lazyentity.`` and the client's name.
    ``python -m lazyentity`` opens the command line. The first lazy class asks for the adapters.
    """
    core = {
        (module, name)
        for module, name in _arrows("lazyentity", *ROOMS_ABOVE)
        if not _is_in(module, *ROOMS_ABOVE)
    }
    public = {f"lazyentity.{package}" for package in PACKAGES}
    assert {module for module, _ in core} - public == {
        "lazyentity",
        "lazyentity.__main__",
        "lazyentity.entity",
    }
    # The class of lazy entities asks for them: without them C code sees its sentinels.
    assert {name for module, name in core if module == "lazyentity.entity"} == {
        "lazyentity.patches.adapters"
    }
    assert {name for module, name in core if module == "lazyentity.__main__"} == {
        "lazyentity.cli.dispatch.main"
    }


def test_only_programs_open_the_command_line() -> None:
    """It is above all other rooms, the commands of the benchmark included."""
    assert _importers("lazyentity.cli") == {"lazyentity.__main__", "lazyentity.bench.__main__"}


def test_nothing_below_imports_bulk_calls_and_snapshots() -> None:
    """Only the benchmark uses them. They use the core and the patches, and not each other."""
    rooms = "lazyentity.bulk", "lazyentity.snapshot"
    assert all(_is_in(module, "lazyentity.bench") for module in _importers(*rooms))
    for room, other in itertools.permutations(rooms):
        assert not _arrows(room, other, "lazyentity.bench")


def test_packed_documents_rest_on_the_core_alone() -> None:
    """Nothing but the benchmark imports them. They import no patches, and no backend by name."""
    others = (f"lazyentity.{room}" for room in ("patches", "bench", "pure", "native"))
    assert _arrows("lazyentity.packed", *others) == set()
    assert all(_is_in(module, "lazyentity.bench") for module in _importers("lazyentity.packed"))


def test_public_modules_of_clients_only_offer() -> None:
    """Each imports the package of its client, and is not imported by the rest."""
    for package in PACKAGES:
        module, own = f"lazyentity.{package}", f"lazyentity.patches.{package}"
        assert _arrows(module, "lazyentity") == _arrows(module, own)
        assert not [arrow for arrow in every_arrow() if _is_in(arrow[1], module)]


def test_the_core_has_no_circle() -> None:
    """No module imports one that imports it, directly or not; a late import counts as well.

    The package itself offers everything, and the rooms above are not of the core.
    """
    modules = {
        module
        for module, _ in every_arrow()
        if module != "lazyentity" and not _is_in(module, *ROOMS_ABOVE)
    }
    # A name of a module counts as the module.
    imports: dict[str, set[str]] = {
        module: {
            known
            for importer, name in every_arrow()
            if importer == module
            for known in (name, name.rpartition(".")[0])
            if known in modules - {module}
        }
        for module in modules
    }
    # The modules that import nothing that is left go, until none goes.
    while free := {module for module, names in imports.items() if not names}:
        imports = {module: names - free for module, names in imports.items() if module not in free}
    assert imports == {}


@pytest.mark.parametrize(
    ("room", "below"),
    [
        ("_mode", ("_environment",)),
        ("codec", ("_mode",)),
        ("storage", ("codec", "_environment")),
        ("profiling.observer", ("codec", *COUNTING)),
        ("profiling.callsites", ("codec", "profiling.CLIENT_PACKAGES", *COUNTING)),
        ("profiling.counters", ("codec", *COUNTING)),
    ],
)
def test_the_lower_rooms_import_nothing_above_them(room: str, below: tuple[str, ...]) -> None:
    """The half of the profile that counts lies below the backends, which call it."""
    rooms = (f"lazyentity.{each}" for each in (room, *below))
    assert [
        module for module, _ in every_arrow() if _is_in(module, f"lazyentity.{room}")
    ] or not below
    assert _arrows(f"lazyentity.{room}", "lazyentity") == _arrows(f"lazyentity.{room}", *rooms)


def test_backends_rest_on_the_lower_rooms() -> None:
    """Neither imports the other, but for the encoder that native leaves unusual values to."""
    assert {name for _, name in _arrows("lazyentity.native", "lazyentity.pure")} == {
        "lazyentity.pure.writing"
    }
    below = "codec", "storage", "search", "_mode", *COUNTING
    rooms = *(f"lazyentity.{room}" for room in below), "lazyentity.pure", "lazyentity.native"
    for backend, other in (("pure", "native"), ("native", "pure")):
        room = f"lazyentity.{backend}"
        assert _arrows(room, "lazyentity") == _arrows(room, *rooms)
        if backend == "pure":
            assert _arrows(room, f"lazyentity.{other}") == set()


@pytest.mark.parametrize(("client", "other"), [*itertools.permutations(PACKAGES, 2)])
def test_clients_do_not_know_each_other(client: str, other: str) -> None:
    arrows = _arrows(f"lazyentity.patches.{client}", f"lazyentity.patches.{other}")
    assert arrows == set()


@pytest.mark.parametrize("room", ["api", "rest"])
def test_what_clients_share_knows_none_of_them(room: str) -> None:
    arrows = _arrows(f"lazyentity.patches.{room}", "lazyentity.patches")
    clients = (f"lazyentity.patches.{client}" for client in PACKAGES)
    assert arrows
    assert arrows.isdisjoint(_arrows(f"lazyentity.patches.{room}", *clients))


def test_the_api_knows_no_client() -> None:
    """It imports no client library, and the messages that these have in common."""
    libraries = [client.waits_for_import for client in CLIENTS.values()]
    imported = {
        name
        for path in (ROOT / "patches" / "api").glob("*.py")
        for name in _imports_of_python(path.read_text(encoding="utf-8"))
    }
    assert any(_is_in(name, "google.cloud.datastore_v1") for name in imported)
    assert not [name for name in imported if _is_in(name, *libraries)]


@pytest.mark.parametrize("client", [name for name in PACKAGES if name != REQUIRED])
def test_nothing_else_names_a_client(client: str) -> None:
    """Only its package, its public module and the list do; setup.py and the tools do not.

    The tool that draws the charts has the results of each. A package of another client may use the
    word for something else. Packed documents have a property for each of two clients.
    """
    # The package, or the name that patch() takes.
    words = re.compile(rf"\b{client.replace('_', '[_-]')}\b")
    naming = {path for path, text in _texts_outside().items() if words.search(text)}
    public = f"lazyentity/{client}.py"
    assert naming - {public, "tools/tables.py"} == {"patches/clients.py"}


@functools.cache  # for every client the same
def _texts_outside() -> dict[str, str]:
    """Return the sources of the lower rooms, setup.py and the tools, but no client's.

    Packed documents are left out, too.
    """
    packages = [ROOT / "patches" / package for package in PACKAGES]
    packages.append(ROOT / "lazyentity" / "packed")
    sources = [ROOT / "setup.py", *(ROOT / "tools").iterdir()]
    for folder in ("lazyentity", "patches"):
        sources += [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.p[yx][xdi]")]
    return {
        str(source.relative_to(ROOT)): source.read_text(encoding="utf-8")
        for source in sources
        if source.is_file() and not any(package in source.parents for package in packages)
    }
