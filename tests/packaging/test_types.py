"""Type checkers accept what a program may do with lazyentity, and refuse its mistakes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lazyentity

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

PROGRAM = f"""
from collections.abc import Iterator
from typing import Any

from google.cloud import datastore
from google.cloud.datastore.query import Query
import lazyentity
import lazyentity.bulk
import lazyentity.packed
from lazyentity import {", ".join(lazyentity.__all__)}
from lazyentity import materialise  # refused
from lazyentity.packed import PackedProperty, pack
from lazyentity.packed import pakc  # refused


class Order(datastore.Entity):
    pass


class Orders(Query):
    def fetch(self, *args: Any, **options: Any) -> Iterator[Order]:  # pyright: ignore
        raise NotImplementedError


def activation(flag: bool) -> None:
    lazyentity.patch()
    lazyentity.patch("datastore", "ndb", strict=True, eager=flag)
    lazyentity.unpatch(*lazyentity.patched())
    lazyentity.patch("dataStore")  # refused
    lazyentity.patch(strikt=True)  # refused
    lazyentity.unpatch("nbd")  # refused
    lazyentity.nope  # refused
    with lazyentity.eager():
        pass
    with lazyentity.profile() as counts:
        reveal_type(counts)  # is Profile
    lazyentity.backend.upper()


def wrapping(client: datastore.Client, query: Query, orders: Orders, flag: bool) -> None:
    reveal_type(lazyentity.wrap(client))  # is Client
    reveal_type(lazyentity.wrap(query, prefetch=["amount"], strict=True))  # is Query
    reveal_type(lazyentity.wrap(query, eager=flag))  # is Query
    reveal_type(lazyentity.wrap(orders, eager=True))  # is Orders
    for order in lazyentity.wrap(orders).fetch():
        reveal_type(order)  # is Order
    lazyentity.wrap("nonsense")  # refused
    lazyentity.wrap(3)  # refused
    lazyentity.wrap(Order())  # refused
    lazyentity.wrap(query, eager=True, strict=True)  # refused
    lazyentity.wrap(query, prefetch="amount", eager=True)  # refused
    lazyentity.wrap(query, strickt=True)  # refused


def single(key: datastore.Key, stored: bytes) -> None:
    order = lazyentity.LazyEntity.from_bytes(stored)
    reveal_type(order)  # is LazyEntity
    order.nope  # refused
    lazyentity.LazyEntity(key, exclude_from_indexes=("note",))
    lazyentity.LazyEntity(exclude="note")  # refused
    lazyentity.LazyEntity.from_bytes("text")  # refused
    (detached,) = lazyentity.detach([order], partial=True)
    reveal_type(detached)  # is LazyEntity
    reveal_type(lazyentity.decoded(order))  # is tuple[str, ...]
    lazyentity.to_dict(order, "amount")
    lazyentity.to_dict(3)  # refused
    lazyentity.raw(lazyentity.materialize(order)).hex()
    lazyentity.prefetch(order, 1)  # refused


def reports(orders: Orders) -> None:
    found = lazyentity.wrap(orders).fetch()
    lazyentity.columns(found, ["amount"], key="id", key_as="id", missing="raise")
    lazyentity.columns(found, ["amount"], missing="rise")  # refused
    lazyentity.to_pandas(found, ["amount"], objects=True, key="order").shape
    lazyentity.to_pandas(found, ["amount"], key="id", key_as="ids")  # refused
    for batch in lazyentity.column_batches(found, ["amount"], 100):
        reveal_type(batch)  # is dict[str, list[Any]]


def calls(client: datastore.Client, key: datastore.Key) -> None:
    lazyentity.bulk.get_many(client, [key], eventual=True)
    lazyentity.bulk.get_many(client, [key], eventul=True)  # refused
    for entity in lazyentity.bulk.get_many(client, [key]):
        reveal_type(entity)  # is Entity | None
    lazyentity.packed.pack([1], compress_from=10).hex()
    lazyentity.packed.pakc  # refused
"""

_LINE = re.compile(r"^[^:\n]+:(\d+): (error|note): (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, in a folder beside the checkout's package."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "packages").mkdir()
    (folder / "packages" / "lazyentity").symlink_to(ROOT / "lazyentity")
    (folder / "program.py").write_text(PROGRAM)
    return folder / "program.py"


Messages = list[tuple[int, str, str]]
"""Lines, counted from 1, with "error" or another word and the text."""


def _run(program: Path, *command: str, **variables: str) -> str:
    """Return the output of a checker that found mistakes."""
    run = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=program.parent,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


def mypy(program: Path) -> Messages:
    # The client announces types and has next to none: its users have to allow calls of it.
    options = ["--strict", "--config-file=", "--untyped-calls-exclude=google"]
    # Kept for the next run, as the one of `nox -s types`; mypy sees which modules have changed.
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'of_a_program'}"
    quiet = ["--follow-imports=silent", cache, "--no-pretty"]
    output = _run(program, "mypy", *options, *quiet, program.name, MYPYPATH="packages")
    return [(int(line), kind, text) for line, kind, text in _LINE.findall(output)]


def pyright(program: Path) -> Messages:
    configuration = {"extraPaths": ["packages"], "include": [program.name]}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(configuration))
    options = "--outputjson", "--project=.", f"--pythonpath={sys.executable}"
    # It would look for a newer version of itself.
    output = _run(program, "pyright", *options, PYRIGHT_PYTHON_IGNORE_WARNINGS="1")
    found: list[dict[str, Any]] = json.loads(output)["generalDiagnostics"]
    return [
        (each["range"]["start"]["line"] + 1, each["severity"], each["message"])
        for each in found
        if each.get("rule") != "reportUnusedExpression"
    ]


@pytest.mark.parametrize("check", [mypy, pyright])
def test_a_program(program: Path, check: Callable[[Path], Messages]) -> None:
    """Every mistake is refused, nothing else is, and the revealed types are those that are said."""
    messages = check(program)
    lines = list(enumerate(PROGRAM.split("\n"), start=1))
    refused = {number for number, line in lines if line.endswith("# refused")}
    assert {number for number, kind, _ in messages if kind == "error"} == refused, messages
    expected = {number: line.partition("# is ")[2] for number, line in lines if "# is " in line}
    revealed = {
        number: re.sub(r"\b[a-z_]\w*\.", "", re.findall('is "(.*)"$', text)[0])
        for number, _, text in messages
        if number in expected
    }
    assert revealed == expected
