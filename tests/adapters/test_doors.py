"""By whatever door an entity comes in, every adapted library gets what it gets of a stock one.

A process in each of the :data:`STATES` goes through all of the doors.
"""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.util
import itertools
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec import values
from lazyentity.codec.describing import safe_repr
from tests.adapters.test_uses import ALL
from tests.adapters.uses import Uses
from tests.entity.consumption import describe
from tests.support.forks import answer
from tests.support.snapshots import geo_points_without_address, outcome
from tests.support.stock import EntityMessage, in_order_of
from tests.support.strategies.samples import PLAIN

Door = Callable[[bytes], Any]
"""Takes a serialised entity, and returns an entity or a dict of its properties."""

_USES = 2
"""How many uses of each library; the simple ones come first. The last one is used as well."""


INSIDE = ", inside eager()"


def _inside_eager(door: Door) -> Door:
    def enter(raw: bytes) -> Any:
        with lazyentity.eager():
            return door(raw)

    return enter


def _from_bytes(raw: bytes) -> Any:
    return LazyEntity.from_bytes(raw)


def _read(raw: bytes) -> Any:
    """Return what the client's own conversion makes of a message, patched or not."""
    return helpers.entity_from_protobuf(EntityMessage.FromString(raw))


def _around(raw: bytes) -> Any:
    """Return an entity with two embedded ones."""
    message = EntityMessage()
    message.key.CopyFrom(EntityMessage.FromString(raw).key)
    message.properties["held"].entity_value.CopyFrom(EntityMessage.FromString(raw))
    in_list = message.properties["several"].array_value.values.add()
    in_list.entity_value.CopyFrom(EntityMessage.FromString(raw))
    return _from_bytes(message.SerializeToString())


def _detached(raw: bytes, enter: Door = _from_bytes, partial: bool = False) -> Any:
    """Return an entity that was detached after all of its properties were read."""
    entity = enter(raw)
    for name in entity:
        entity[name]
    (kept,) = lazyentity.detach([entity], partial=partial)
    return kept


def _prefetched(raw: bytes) -> Any:
    entity = _from_bytes(raw)
    lazyentity.prefetch(entity, "text")
    return entity


def _assigned(raw: bytes) -> Any:
    entity = _from_bytes(raw)
    text = entity.pop("text")
    entity["text"] = text
    return entity


def _of_subclass(raw: bytes) -> Any:
    class Own(LazyEntity):
        """An application's own class."""

        __slots__ = ()

    return Own.from_bytes(raw)


_DOORS: dict[str, Door] = {
    "from_bytes": _from_bytes,
    "from_bytes of raw()": lambda raw: _from_bytes(lazyentity.raw(_from_bytes(raw))),
    "from_bytes of a subclass": _of_subclass,
    "embedded": lambda raw: _around(raw)["held"],
    "in a list": lambda raw: _around(raw)["several"][0],
    "by get()": lambda raw: _around(raw).get("held"),
    "by items()": lambda raw: dict(_around(raw).items())["held"],
    "by pop()": lambda raw: _around(raw).pop("held"),
    "embedded, detached": lambda raw: _detached(raw, _around)["held"],
    "in a list, detached": lambda raw: _detached(raw, _around)["several"][0],
    "detached": _detached,
    "detached, partial": functools.partial(_detached, partial=True),
    "prefetched": _prefetched,
    "assigned": _assigned,
    "read": _read,
}
COPIES: dict[str, Door] = {
    "copy": lambda raw: copy.copy(_from_bytes(raw)),
    "deepcopy": lambda raw: copy.deepcopy(_from_bytes(raw)),
    "pickle": lambda raw: pickle.loads(pickle.dumps(_from_bytes(raw))),
    "pickle, detached": lambda raw: pickle.loads(pickle.dumps(_detached(raw))),
    "materialized": lambda raw: lazyentity.materialize(_from_bytes(raw)),
}


def doors(folder: Path) -> dict[str, Door]:
    """Return the doors by name.

    Args:
        folder: an empty one, for files.
    """
    found = _DOORS | _snapshots(folder) | _elements()
    return found | COPIES | {f"{name}{INSIDE}": _inside_eager(found[name]) for name in found}


def _snapshots(folder: Path) -> dict[str, Door]:
    if importlib.util.find_spec("zstandard") is None:
        return {}
    from lazyentity.snapshot import Snapshot

    numbers = itertools.count()

    @functools.cache
    def saved(raw: bytes) -> Any:
        snapshot = Snapshot(folder / f"{next(numbers)}.snapshot")
        snapshot.refresh([LazyEntity._from_raw(raw)])
        return snapshot

    def key(raw: bytes) -> Any:
        return LazyEntity._from_raw(raw).key

    return {
        "snapshot[key]": lambda raw: saved(raw)[key(raw)],
        "snapshot.get_many()": lambda raw: saved(raw).get_many([key(raw)])[0],
        "iter(snapshot)": lambda raw: next(iter(saved(raw))),
    }


def _elements() -> dict[str, Door]:
    if importlib.util.find_spec("apache_beam") is None:
        return {}
    from lazyentity.patches.beam.coders import ElementCoder
    from lazyentity.patches.beam.elements import lazy

    coder = ElementCoder()
    return {
        "element, pickle": lambda raw: pickle.loads(pickle.dumps(lazy(raw))).properties,
        "element, coder": lambda raw: coder.decode(coder.encode(lazy(raw))).properties,
    }


def main(folder: str) -> None:
    """Print the types of the entities that come in, by door, and the differences to stock."""
    warnings.simplefilter("ignore")
    ways = doors(Path(folder))
    print(json.dumps([kinds(ways), list(differences(ways))]))  # noqa: T201  # the result


def kinds(ways: dict[str, Door]) -> dict[str, str]:
    """Return the name of the type that comes in, by door."""
    return {name: type(enter(PLAIN)).__name__ for name, enter in ways.items()}


def differences(ways: dict[str, Door]) -> Iterator[str]:
    """Yield a text for each use of a library that differs from the use of a stock entity.

    Stock entities that come in need no use.
    """
    stock_ways = {name for name, kind in kinds(ways).items() if kind in ("Entity", "dict")}
    lazy_ways = {name: enter for name, enter in ways.items() if name not in stock_ways}

    @functools.cache
    def sort_of_stock(door: str, raw: bytes) -> tuple[type, str]:
        stock = _stock(raw, ways[door](raw))
        return type(stock), repr(stock)

    for library in filter(Uses.is_installed, ALL):
        uses = [*library.possible()]
        for use in {*uses[:_USES], *uses[-1:]}:
            # By type and order: most doors have the same.
            of_stock: dict[tuple[type, str], Any] = {}
            for door, enter in lazy_ways.items():
                with geo_points_without_address():
                    got = describe(outcome(library.uses[use], enter(library.raw)))
                    sort = sort_of_stock(door, library.raw)
                    if sort not in of_stock:
                        stock = _stock(library.raw, enter(library.raw))
                        of_stock[sort] = describe(outcome(library.uses[use], stock))
                if got != of_stock[sort]:
                    texts = safe_repr(got), safe_repr(of_stock[sort])
                    yield f"{door}: {library.distribution}, {use}: {texts[0]} != {texts[1]}"


def _stock(raw: bytes, other: Any) -> Any:
    """Return the stock entity, or its properties in Beam, in the order that ``other`` has."""
    stock: Any = values.stock_entity(EntityMessage.FromString(raw))
    if not isinstance(other, Entity):
        types: Any = importlib.import_module("apache_beam.io.gcp.datastore.v1new.types")
        stock = types.Entity.from_client_entity(stock).properties
    return in_order_of(other, stock)


_PATCH = "import google.cloud.datastore, lazyentity; lazyentity.patch"
STATES = {
    "libraries first": """
import importlib.util
for name in "orjson", "msgspec", "pydantic", "polars", "pyarrow", "duckdb", "xml.etree.ElementTree":
    if importlib.util.find_spec(name.partition(".")[0]) is not None:
        importlib.import_module(name)
""",
    "libraries last": "",
    "eager patch": f"{_PATCH}(eager=True)",
    "unpatched": f"{_PATCH}(); lazyentity.unpatch()",
    "patched": f"{_PATCH}()",
}
"""Programs of the application, run before the first entity comes in."""


def _come_in(state: str, folder: Path, **environment: str) -> tuple[dict[str, str], list[str]]:
    """Go through every door in a process, which imports lazyentity at last."""
    program = (
        f"{STATES[state]}\nfrom tests.adapters import test_doors as own; own.main({str(folder)!r})"
    )
    kinds, differences = answer("-c", program, warnings="ignore", **environment)
    assert kinds.keys() == doors(folder).keys()
    return kinds, differences


def _is_stock(kind: str) -> bool:
    return kind in ("Entity", "dict")


@pytest.mark.parametrize("state", STATES)
def test_every_library_gets_stock_contents(state: str, tmp_path: Path) -> None:
    """In a process that is patched or not, with every door that there is."""
    kinds, differences = _come_in(state, tmp_path)
    assert differences == []
    stock = {name for name, kind in kinds.items() if _is_stock(kind)}
    eager = {name for name in kinds if name.endswith(INSIDE)}
    # Without a patch in lazy mode, the client's own conversion makes stock entities.
    assert stock == eager | {*COPIES, *(() if state == "patched" else ("read",))}


@pytest.mark.parametrize("name", ["LAZYENTITY_DISABLE", "LAZYENTITY_EAGER"])
@pytest.mark.parametrize("state", ["libraries last", "patched"])
def test_the_switches_give_stock_entities(name: str, state: str, tmp_path: Path) -> None:
    kinds, _ = _come_in(state, tmp_path, **{name: "1"})
    assert {door: kind for door, kind in kinds.items() if not _is_stock(kind)} == {}
