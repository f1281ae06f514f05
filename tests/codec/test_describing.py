"""Texts for errors can always be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lazyentity.codec import errors
from lazyentity.codec.describing import (
    LONGEST,
    add_note,
    describe_entity,
    describe_type,
    plain_name,
    property_name,
    safe_repr,
    safe_str,
)
from tests.support import hostile


@pytest.mark.parametrize("sort", hostile.VALUES)
@pytest.mark.parametrize(
    "describe", [safe_repr, safe_str, describe_type, property_name, plain_name]
)
def test_any_value_has_a_text(describe: Callable[[Any], str], sort: str) -> None:
    """It is a plain string; that of a representation can be written to a file of UTF-8."""
    text = describe(hostile.VALUES[sort]())
    assert type(text) is str
    assert text
    if describe in (safe_repr, property_name):
        text.encode()


def test_a_value_without_a_text_is_named_by_its_type() -> None:
    """With the error that its text raised."""
    assert safe_repr(hostile.Unprintable()) == (
        "<tests.support.hostile.Unprintable whose text raised tests.support.hostile.Refusal>"
    )
    assert "Endless whose text raised RecursionError" in safe_repr(hostile.Endless())
    assert safe_repr(hostile.Speaker()) == "spoken"


@pytest.mark.parametrize("huge", ["x" * 10**6, b"x" * 10**6, ["x" * 10**6], ("x",) * 10**6])
def test_a_long_text_is_cut_off(huge: object) -> None:
    text = safe_repr(huge)
    assert text == repr(huge)[:LONGEST] + "..."
    assert len(safe_str(huge)) == LONGEST + len("...")


class _Interrupting:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


def test_an_interruption_passes() -> None:
    """It ends the program, which is no matter of the value."""
    with pytest.raises(KeyboardInterrupt):
        safe_repr(_Interrupting())
    with pytest.raises(KeyboardInterrupt):
        describe_entity(_Interrupting().__repr__)
    with pytest.raises(KeyboardInterrupt):
        add_note(ValueError(), _Interrupting().__repr__)


def test_names_of_types() -> None:
    """Also of a class whose module is no text, or that has none."""
    kind: Any = type("Made", (), {"__module__": 5})
    assert describe_type(kind()) == "Made"
    made: dict[str, Any] = {}
    exec("instance = type('Alone', (), {})()", made)  # noqa: S102  # by code of no module
    assert describe_type(made["instance"]) == "Alone"
    assert describe_type(1) == "int"
    assert describe_type(hostile.Unprintable()) == "tests.support.hostile.Unprintable"
    assert describe_type(hostile.OfUnprintableType()).endswith("OfUnprintableType")


def test_names_of_properties() -> None:
    """Some models have bytes for them."""
    assert property_name("größe") == property_name("größe".encode()) == "'größe'"
    assert property_name(b"\xff") == r"'\\xff'"
    assert property_name(5) == "5"
    assert plain_name(hostile.Name("size")) == "size"


def test_an_entity_is_named_by_its_key() -> None:
    assert describe_entity(lambda: "a key") == "the entity 'a key'"
    assert describe_entity(lambda: None) == "an entity without a key"
    for make in hostile.ERRORS.values():
        assert describe_entity(_raising(make())) == "an entity whose key cannot be read"
    for key in hostile.VALUES.values():
        assert describe_entity(key).startswith("the entity ")


def _raising(error: Exception) -> Callable[[], Any]:
    def read() -> Any:
        raise error

    return read


def test_notes() -> None:
    """An error that is raised for several reads keeps one note of each."""
    error = ValueError("of the application")
    for _ in range(3):
        for name in ("a", "b"):
            errors.note_value(error, name, lambda: "the entity")
    assert error.__notes__ == [
        "while decoding property 'a' of the entity",
        "while decoding property 'b' of the entity",
    ]
    refusing = hostile.WithoutNotes()
    add_note(refusing, lambda: "a note")
    assert refusing.__notes__ == ["a note"]
    other: Any = ValueError()
    other.__notes__ = 5
    add_note(other, lambda: "a note")
    assert other.__notes__ == 5
