"""Model classes of any properties, and entities of them.

A class is defined anew for each example, under one of a few names, and is the model of that kind
and importable from a module of the library's tests until the next one is.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.models.sorts import Sort, strip
from tests.patches.models.values import Values, few, optional, present

KIND = "Generated"
MOST_PROPERTIES = 6

_OPTIONS: dict[str, Any] = {
    "repeated": True,
    "indexed": False,
    "required": True,
    "validator": strip,
}


@dataclass(frozen=True, eq=False)
class Library:
    """A library of models, and of what its classes and entities are made.

    Attributes:
        module: the name of the module that has the generated classes.
        model: the library's module ``model``.
        polymodel: the library's module ``polymodel``.
        sorts: the kinds of properties, by any name.
        dynamic: values of properties that a class does not define.
        serialised: serialises a model as ``put`` does.
        refuses: the errors by which the library refuses to write a model.
        without_properties: makes a serialised entity of a kind.
    """

    module: str
    model: Any
    polymodel: Any
    sorts: dict[str, Sort]
    dynamic: Values
    serialised: Callable[[Any], bytes]
    refuses: tuple[type[Exception], ...]
    without_properties: Callable[[str], bytes]

    @cached_property
    def choices(self) -> SearchStrategy[list[str]]:
        """Names of different kinds of properties."""
        names = st.sampled_from(sorted(self.sorts))
        return st.lists(names, min_size=1, max_size=MOST_PROPERTIES, unique=True)

    def define(self, name: str, base: Any, namespace: dict[str, Any]) -> Any:
        """Define a class in the module."""
        defined = type(base)(name, (base,), {"__module__": self.module, **namespace})
        setattr(sys.modules[self.module], name, defined)
        return defined


@dataclass
class Shape:
    """A model class and the values for its properties, by the names in the code."""

    model_class: Any
    values: dict[str, Values] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names in the code, of all properties."""
        return sorted(prop._code_name for prop in self.model_class._properties.values())

    @property
    def stored_names(self) -> list[str]:
        """Names in the entities."""
        return sorted(self.model_class._properties)


@dataclass(frozen=True)
class Stored:
    """A serialised entity, and the shape of its model."""

    shape: Any
    raw: bytes


_ONE_IN_FOUR = st.sampled_from([False, False, False, True])
_BOOLEAN = st.booleans()


@functools.cache
def _stored_names(prefix: str, ordinal: int) -> SearchStrategy[str | None]:
    """Names that a property may be stored by; None is for its name in the code."""
    # Also names that another property has in the code.
    return st.sampled_from([None, None, f"s{prefix}{ordinal}", f"{prefix}{ordinal + 1}"])


def _properties(
    draw: DrawFn, library: Library, prefix: str, values: dict[str, Values]
) -> Iterator[tuple[str, Any]]:
    taken: set[str] = set()
    for ordinal, name in enumerate(draw(library.choices)):
        sort = library.sorts[name]
        options = {
            option: _OPTIONS[option] for option in sorted(sort.options) if draw(_ONE_IN_FOUR)
        }
        if "repeated" in options:
            options.pop("required", None)
        code_name = f"{prefix}{ordinal}"
        stored = draw(_stored_names(prefix, ordinal))
        if stored is not None and stored not in taken:
            options["name"] = stored
        elif code_name in taken:
            options["name"] = f"s{prefix}{ordinal}"
        try:
            prop = sort.make(**options)
        except (TypeError, NotImplementedError):
            # The library does not have this combination.
            prop = sort.make(name=options.get("name"))
        if sort.writable:
            values[code_name] = (few if prop._repeated else optional)(sort.values)
        taken.add(options.get("name", code_name))
        yield code_name, prop


def _class(
    draw: DrawFn, library: Library, name: str, base: Any, prefix: str, values: dict[str, Values]
) -> Any:
    return library.define(name, base, dict(_properties(draw, library, prefix, values)))


_BASES = st.sampled_from(["model", "model", "model", "poly", "expando"])


@functools.cache
@st.composite
def _shapes(draw: DrawFn, library: Library) -> Shape:
    """Model classes: of plain models, of hierarchies and of expandos."""
    values: dict[str, Values] = {}
    match draw(_BASES):
        case "poly":
            base = _class(draw, library, KIND, library.polymodel.PolyModel, "r", values)
            of_base = dict(values)
            defined = _class(draw, library, f"{KIND}Leaf", base, "p", values)
            if draw(_BOOLEAN):
                return Shape(base, of_base)
        case "expando":
            defined = _class(draw, library, KIND, library.model.Expando, "p", values)
            dynamic = library.dynamic
            values |= {"dynamic": dynamic, "dynamics": few(dynamic, 2)}
        case _:
            defined = _class(draw, library, KIND, library.model.Model, "p", values)
    return Shape(defined, values)


def _instance(draw: DrawFn, shape: Shape) -> Any:
    instance = shape.model_class(id=5)
    for name, values in shape.values.items():
        required = name in shape.names and getattr(shape.model_class, name)._required
        if required or draw(_BOOLEAN):
            setattr(instance, name, draw(present(values) if required else values))
    return instance


@functools.cache
@st.composite
def stored_entities(draw: DrawFn, library: Library) -> Stored:
    """An entity that the library has stored."""
    shape = draw(_shapes(library))
    try:
        raw = library.serialised(_instance(draw, shape))
    except library.refuses:
        # The library cannot have stored a model that it fails to write.
        raw = library.without_properties(KIND)
    return Stored(shape, raw)


@st.composite
def changed_entities(
    draw: DrawFn, library: Library, changed: Callable[[bytes, Sequence[str]], SearchStrategy[bytes]]
) -> Stored:
    """An entity that the library has stored, with any change that another program could make.

    Args:
        draw: of hypothesis.
        library: the library.
        changed: gives changed entities of a serialised one and the names of its properties.
    """
    stored = draw(stored_entities(library))
    names = [*stored.shape.stored_names, *stored.shape.names]
    return Stored(stored.shape, draw(changed(stored.raw, names)))


def change_key(draw: DrawFn, message: Any, element: Any, kind: str) -> None:
    """Remove or change the key of an entity, or make it incomplete.

    Args:
        draw: of hypothesis.
        message: the entity.
        element: the last element of the key's path.
        kind: the name of the field of such an element that has the kind.
    """
    match draw(st.sampled_from(["none", "kind", "partial"])):
        case "none":
            message.ClearField("key")
        case "kind":
            setattr(element, kind, draw(st.sampled_from(["Person", "Nobody", "Anything"])))
        case _:
            element.ClearField("id")
