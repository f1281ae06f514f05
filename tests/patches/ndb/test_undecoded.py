"""The sentinel that got out of a model's values is never written as another model's data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb

from lazyentity.codec.undecoded import UNDECODED
from tests.patches.ndb.pairs import lazy_model, patched, stored, written


class Noted(ndb.Model):
    """With one value of each kind of property that takes anything."""

    text = ndb.StringProperty()
    other = ndb.GenericProperty()
    several = ndb.GenericProperty(repeated=True)


class NotedExpando(ndb.Expando):
    text = ndb.StringProperty()


pytestmark = pytest.mark.usefixtures("modern_context")


def _lazy() -> Any:
    lazy = lazy_model(stored(Noted(text="one", other=1, several=[1])))
    assert dict.get(lazy._values, "text") is UNDECODED
    return lazy


ASSIGNMENTS: dict[str, Callable[[Any], object]] = {
    "[]=": lambda values: values.__setitem__("text", UNDECODED),
    "update": lambda values: values.update({"other": 2, "text": UNDECODED}),
    "|=": lambda values: values.__ior__({"other": 2, "text": [UNDECODED]}),
    "setdefault": lambda values: values.setdefault("new", UNDECODED),
    "as they are": lambda values: values.update(dict(dict.items(values))),
}


@pytest.mark.parametrize("assign", ASSIGNMENTS.values(), ids=ASSIGNMENTS.keys())
def test_assigning_to_values_is_refused(assign: Callable[[Any], object]) -> None:
    """At once, and the values stay as they were."""
    lazy = _lazy()
    before = list(dict.items(lazy._values))
    with patched():
        with pytest.raises(TypeError, match=r"lazyentity\.materialize\(entity\)"):
            assign(lazy._values)
        assert all(
            name == kept and value is stays
            for (name, value), (kept, stays) in zip(dict.items(lazy._values), before, strict=True)
        )
        assert (lazy.text, lazy.other, lazy.several) == ("one", 1, [1])


SETTING: dict[str, Callable[[Any], object]] = {
    "a value": lambda entity: setattr(entity, "other", UNDECODED),
    "several": lambda entity: setattr(entity, "several", [1, UNDECODED]),
    "past the methods": lambda entity: dict.__setitem__(entity._values, "other", [UNDECODED]),
}


@pytest.mark.parametrize("make", [_lazy, Noted], ids=["lazy", "stock"])
@pytest.mark.parametrize("change", SETTING.values(), ids=SETTING.keys())
def test_it_is_not_written(make: Callable[[], Any], change: Callable[[Any], object]) -> None:
    """Whether setting it is refused, or writing the model."""
    entity = make()

    def change_and_write() -> None:
        change(entity)
        written(entity)

    with patched(), pytest.raises((TypeError, ValueError), match=r"[Uu]ndecoded"):
        change_and_write()


def test_what_the_entity_lacks_is_not_written() -> None:
    """A sentinel in place of a value that was not received is refused."""
    lazy = lazy_model(stored(NotedExpando(text="one")))
    with patched():
        lazy.more = 1
        dict.__setitem__(lazy._values, "more", UNDECODED)
        for use in (lambda e: e.more, written, lambda e: e._values.items()):
            with pytest.raises(TypeError, match="property 'more' of the entity"):
                use(lazy)
