"""The guard of a client: it notices every replacement, and no code of the replacement runs."""

from __future__ import annotations

import email.parser  # noqa: F401  # a name of it is replaced
import functools
import json
import json.decoder
import sys
from abc import ABCMeta
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import wrapt

from lazyentity.patches.guard import AttributePath, Guard, name_of
from lazyentity.patches.registry import Patch, Seam
from tests.support import hostile

NAMES = {
    "function": AttributePath("json.decoder", "py_scanstring"),
    "method": AttributePath("json.decoder", "JSONDecoder.raw_decode"),
    "class": AttributePath("json.decoder", "JSONDecodeError"),
    "imported class": AttributePath("email.parser", "FeedParser"),
    "inherited": AttributePath("json.decoder", "JSONDecodeError.__str__"),
    "missing": AttributePath("json.decoder", "of_another_version"),
}


def _wrapper(value: Any) -> Any:
    return functools.wraps(value)(lambda *args: value(*args))


REPLACEMENTS: dict[str, Callable[[Any], Any]] = {
    "wrapper": _wrapper,
    "wrapper that equals the original": lambda value: wrapt.FunctionWrapper(
        value, lambda wrapped, _, args, named: wrapped(*args, **named)
    ),
    "mock": lambda value: mock.Mock(),
    "hostile": lambda value: hostile.Unprintable(),
    "subclass": lambda value: type("Sub", (json.JSONDecoder,), {"__module__": "json.decoder"}),
}


@pytest.mark.parametrize("was_asked", [False, True])
@pytest.mark.parametrize("replacement", REPLACEMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_replacement(
    monkeypatch: pytest.MonkeyPatch, name: str, replacement: str, was_asked: bool
) -> None:
    path = NAMES[name]
    guard = Guard(NAMES.values())
    if was_asked:
        assert guard.is_intact()
        assert guard.is_intact()
    holder: Any = sys.modules[path.module]
    *outer, attribute = path.path.split(".")
    for each in outer:
        holder = getattr(holder, each)
    original = getattr(holder, attribute, len)
    monkeypatch.setattr(holder, attribute, REPLACEMENTS[replacement](original), raising=False)
    assert not guard.is_intact()
    with mock.patch.object(guard, "foreign", side_effect=AssertionError("it looked again")):
        assert not guard.is_intact()
    assert guard.foreign() == [path]
    monkeypatch.undo()
    assert guard.is_intact()
    assert guard.foreign() == []


class _Decoder(json.JSONDecoder):
    def raw_decode(self, *args: Any) -> Any:
        return super().raw_decode(*args)


_other: Any = ModuleType("other")
_other.py_scanstring = _wrapper(json.decoder.py_scanstring)  # type: ignore[attr-defined]

OUTSIDE: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], object]]] = {
    "in its own module": (
        "imported class",
        lambda patch: patch.setattr("email.feedparser.FeedParser", object),
    ),
    "its own module": (
        "imported class",
        lambda patch: patch.setitem(sys.modules, "email.feedparser", ModuleType("other")),
    ),
    "no module of its own": (
        "imported class",
        lambda patch: patch.delitem(sys.modules, "email.feedparser"),
    ),
    "the class around it": (
        "method",
        lambda patch: patch.setattr("json.decoder.JSONDecoder", _Decoder),
    ),
    "the module around it": (
        "function",
        lambda patch: patch.setitem(sys.modules, "json.decoder", _other),
    ),
}


@pytest.mark.parametrize(("name", "replace"), OUTSIDE.values(), ids=OUTSIDE)
def test_what_was_replaced_around_a_name(
    monkeypatch: pytest.MonkeyPatch, name: str, replace: Callable[[pytest.MonkeyPatch], object]
) -> None:
    """Once that was undone, the name has the client's own value again."""
    guard = Guard([NAMES[name]])
    replace(monkeypatch)
    assert not guard.is_intact()
    monkeypatch.undo()
    assert guard.is_intact()


def test_the_name_of_a_replacement() -> None:
    assert name_of(ABCMeta("Made", (), {"__module__": "app"})) == "app.Made"
    assert name_of(property(functools.partial(len))) == "functools.partial"
    assert name_of(_wrapper(len)).endswith("test_guard.<lambda>")


def test_without_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard([AttributePath("json.decoder", "JSONDecoder.decode")])
    monkeypatch.delitem(sys.modules, "json.decoder")
    assert not guard.is_intact()
    monkeypatch.undo()
    assert guard.is_intact()


def test_a_module_that_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """New functions of the client are the client's own."""
    module = ModuleType("json.decoder")
    module.__file__ = json.decoder.__file__
    guard = Guard([AttributePath("json.decoder", "py_scanstring")])
    assert guard.is_intact()
    monkeypatch.setitem(sys.modules, "json.decoder", module)
    exec(compile("def py_scanstring(): ...", str(module.__file__), "exec"), vars(module))  # noqa: S102
    assert guard.is_intact()


_decoder: Any = json.decoder


def _seam(path: str) -> Seam:
    return Seam("json.decoder", path, lambda original, is_active: _wrapper(original))


def test_patching() -> None:
    """A replacement by a patch is no foreign one; a wrapper of it is."""
    seam = _seam("py_scanstring")
    guard = Guard([seam])
    patch = Patch([seam], guard=guard)
    assert guard.is_intact()
    patch.apply()
    try:
        assert _decoder.py_scanstring is seam.replacement
        assert guard.is_intact()
        with mock.patch.object(json.decoder, "py_scanstring", _wrapper(seam.replacement)):
            assert not guard.is_intact()
        assert guard.is_intact()
    finally:
        patch.revert()
    assert guard.is_intact()


def test_a_wrapper_that_comes_later_stays() -> None:
    """Around the replacement, whether the patch is active or not."""
    seam = _seam("JSONObject")
    patch = Patch([seam])
    patch.apply()
    wrapper = _wrapper(seam.replacement)
    with mock.patch.object(json.decoder, "JSONObject", wrapper):
        for act in (patch.revert, patch.apply, patch.revert):
            act()
            assert _decoder.JSONObject is wrapper
    assert _decoder.JSONObject is seam.replacement
    patch.revert()
    assert _decoder.JSONObject is seam.original


def test_what_was_replaced_before_is_left_alone() -> None:
    """Also a function that nothing goes past; a wrapper that comes later is no obstacle to it."""
    seam, entry = _seam("py_scanstring"), _seam("JSONObject")
    guard = Guard([seam], [entry])
    patch = Patch([seam, entry], guard=guard)
    with (
        mock.patch.object(json.decoder, "py_scanstring") as mocked,
        mock.patch.object(json.decoder, "JSONObject") as other,
    ):
        patch.apply()
        assert _decoder.py_scanstring is mocked
        assert _decoder.JSONObject is other
        assert not guard.is_intact()
        patch.revert()
    patch.apply()
    try:
        with mock.patch.object(json.decoder, "JSONObject", _wrapper(entry.replacement)):
            assert guard.is_intact()
    finally:
        patch.revert()
