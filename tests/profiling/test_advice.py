"""Each advice of a profile is followed as it says: the program stores and returns the same."""

from __future__ import annotations

import importlib
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.counters import Counts
from lazyentity.profiling.report import KEYS_ONLY, Advice, advise
from tests.profiling.programs import KEYS, KIND, OTHERS, WHOLE
from tests.support.clients import TRANSPORTS, close, make_client
from tests.support.describing import describe

pytest.importorskip("orjson")


@pytest.fixture(scope="module", params=TRANSPORTS)
def client(request: pytest.FixtureRequest) -> Iterator[datastore.Client]:
    with LoopbackServer() as server:
        port = server.grpc_port if request.param == "grpc" else server.http_port
        made = make_client(port, request.param)
        yield made
        close(made)


@pytest.fixture(autouse=True)
def _stock_afterwards() -> Iterator[None]:
    yield
    lazyentity.unpatch()


class Outcome(NamedTuple):
    """Everything that a program returned, and the entities that are stored afterwards."""

    returned: Any
    stored: Any


def _store(client: datastore.Client) -> None:
    old = client.query(kind=KIND)
    old.keys_only()
    client.delete_multi([entity.key for entity in old.fetch()])
    entities = []
    for number in range(1, 4):
        entity = datastore.Entity(client.key(KIND, number), exclude_from_indexes=("e",))
        inner = datastore.Entity()
        inner["deep"] = number
        entity.update(a=number, b=f"text {number}", c=number / 3, d=[number], e="x" * 2000)
        entity.update(inner=inner, tags=["one", "two"])
        if number != 2:
            entity["f"] = f"last {number}"
        entities.append(entity)
    client.put_multi(entities)


def _run(client: datastore.Client, path: Path) -> tuple[Any, list[Advice]]:
    """Run a program, profiled."""
    names: dict[str, Any] = {
        "__name__": "advised",
        "Entity": datastore.Entity,
        "KIND": KIND,
        "lazyentity": lazyentity,
        "orjson": importlib.import_module("orjson"),
        "pickle": pickle,
    }
    exec(compile(path.read_text(), path, "exec", dont_inherit=True), names)  # noqa: S102  # code of the test
    with lazyentity.profile() as profile:
        returned = names["run"](client)
    return returned, list(profile.report().advice)


def _outcome(client: datastore.Client, path: Path, activation: str) -> tuple[Outcome, list[Advice]]:
    """Run a program with entities that are always the same at its start."""
    _store(client)
    if activation == "patch":
        lazyentity.patch("datastore", strict=True)
    try:
        returned, advice = _run(lazyentity.wrap(client) if activation == "wrap" else client, path)
    finally:
        lazyentity.unpatch()
    stored = [describe(entity) for entity in client.query(kind=KIND, order=["__key__"]).fetch()]
    return Outcome(returned, stored), advice


def _follow(source: str, advice: Advice, path: Path) -> str:
    """Change a program as an advice says."""
    assert advice.site.file == str(path)
    lines = source.splitlines()
    if advice.place == "before fetch()":
        first = next(index for index, line in enumerate(lines) if ".fetch(" in line)
        indent = re.match(" *", lines[first])
        assert indent is not None
        lines.insert(first, indent[0] + advice.call)
    else:
        reader = advice.place.split()[-1]
        index = advice.site.line - 1
        changed = re.sub(rf"\b{reader}(?=\.(fetch|get|get_multi)\()", advice.call, lines[index])
        assert changed != lines[index]
        lines[index] = changed
    return "\n".join(lines) + "\n"


def _check(
    client: datastore.Client, tmp_path: Path, source: str, activation: str = "patch"
) -> list[Advice]:
    """Run a program with the stock client, lazily, and with each advice followed.

    Returns:
        The advice.
    """
    path = tmp_path / "program.py"
    path.write_text(source)
    expected, _ = _outcome(client, path, "stock")
    found, advice = _outcome(client, path, activation)
    assert found == expected
    for number, each in enumerate(advice):
        assert each.changes
        followed = tmp_path / f"followed{number}.py"
        followed.write_text(_follow(source, each, path))
        found, _ = _outcome(client, followed, activation)
        assert found == expected, each
    return advice


@pytest.mark.parametrize("activation", ["patch", "wrap"])
@pytest.mark.parametrize("name", KEYS)
def test_a_query_for_keys(
    client: datastore.Client, tmp_path: Path, name: str, activation: str
) -> None:
    (advice,) = _check(client, tmp_path, KEYS[name], activation)
    assert advice.call == KEYS_ONLY
    assert "put()" in advice.changes


@pytest.mark.parametrize("name", WHOLE)
def test_entities_that_are_needed(client: datastore.Client, tmp_path: Path, name: str) -> None:
    advice = _check(client, tmp_path, WHOLE[name])
    assert KEYS_ONLY not in [each.call for each in advice]


CALLS = {
    "two properties": ["lazyentity.wrap(query, prefetch=['a', 'b'], strict=True)"],
    "two properties, assign, put": ["lazyentity.wrap(query, prefetch=['a', 'b'], strict=True)"],
    "look-ups": ["lazyentity.wrap(client, prefetch=['a', 'f'], strict=True)"],
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_advice(client: datastore.Client, tmp_path: Path, name: str) -> None:
    advice = _check(client, tmp_path, OTHERS[name])
    assert sorted(each.call for each in advice) == CALLS[name]


@pytest.mark.parametrize("name", [*KEYS, *OTHERS])
def test_stock_entities(client: datastore.Client, tmp_path: Path, name: str) -> None:
    """Everything of them is decoded: there is nothing to say."""
    path = tmp_path / "program.py"
    path.write_text({**KEYS, **OTHERS}[name])
    _store(client)
    lazyentity.patch("datastore", eager=True)
    _, advice = _run(client, path)
    assert not advice


def test_no_advice_where_nothing_is_gained() -> None:
    """Nearly everything is read, or other kinds of entities than wrap() takes."""
    site = CallSite("file.py", 1, "run")
    had = Counter(dict.fromkeys("abcdefghij", 10))
    few = Counter({"a": 10, "b": 4, "c": 5})
    for without_options, read, whole, expected in (
        (0, few, Counter(), "lazyentity.wrap(query, prefetch=['a', 'c'])"),
        (1, few, Counter(), None),
        (0, had, Counter(), None),
        (0, Counter(a=4), Counter(), None),
        (0, Counter(a=10), Counter(b=1), "lazyentity.wrap(query, prefetch=['a'])"),
        (0, Counter(a=10), Counter(), "lazyentity.wrap(query, prefetch=['a'], strict=True)"),
    ):
        counts = Counts(10, 100, without_options=without_options, had=had, read=read, whole=whole)
        advice = advise(site, "Kind", counts)
        assert (advice and advice.call) == expected
