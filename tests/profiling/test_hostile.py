"""A profile takes the place of no value and of no error, whatever it has to name."""

from __future__ import annotations

import enum
import json
from typing import Any

import pytest
from google.protobuf.message import DecodeError

import lazyentity
from tests.codec.test_errors import CUT_OFF, GOOD, GOOD_KEY, property_field
from tests.profiling.receiving import BACKENDS, FIVE, Response, learn
from tests.support import hostile
from tests.support.strategies import wire

pytestmark = pytest.mark.parametrize("backend", BACKENDS)


class Names(str, enum.Enum):
    A = "a"


@pytest.mark.parametrize("is_learned", [False, True])
def test_names_without_a_text(backend: str, is_learned: bool) -> None:
    """A name of a subclass of str is counted as the string that it is."""
    if is_learned:
        learn(backend, FIVE)
    with lazyentity.profile() as profile:
        first, second = Response(backend, [FIVE] * 2).entities()
        assert first[hostile.Name("a")] == 1
        assert second[Names.A] == 1
        assert second.get(hostile.Name("b")) == "two"
    assert ">a<" in profile.html()
    assert profile.table()
    (kind,) = profile.report().kinds
    assert {each.name: each.decoded for each in kind.properties if each.decoded} == {
        "a": 2,
        "b": 1,
    }


def test_an_error_of_a_name_without_a_text(backend: str) -> None:
    raw = wire.encode([GOOD_KEY, GOOD, property_field("name", CUT_OFF)])
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [raw]).entities()
        for name in ("name", hostile.Name("name")):
            with pytest.raises(DecodeError, match="property 'name' of the entity"):
                entity[name]
    assert profile.report().kinds[0].properties_decoded == 0


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_code_of_a_module_without_a_name(backend: str, sort: str) -> None:
    """Code can be run with any name of a module, in a file of any name."""
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 2).entities()
        program = compile(
            "value = one['a']; every = dict(other.items())", "\udcff\x1b[1m.py", "exec"
        )
        run: dict[str, Any] = {"__name__": hostile.VALUES[sort](), "__builtins__": __builtins__}
        run |= {"one": entities[0], "other": entities[1]}
        exec(program, run)  # noqa: S102  # written here
    assert (run["value"], len(run["every"])) == (1, 5)
    report = profile.report()
    assert report.wholes[0].site.function == "<module>"
    assert json.loads(profile.json())["wholes"]
    profile.html().encode(errors="backslashreplace")
    profile.table().encode(errors="backslashreplace")
