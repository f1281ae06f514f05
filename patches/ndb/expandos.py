"""The dynamic properties of an ``Expando``, which the entity has and the class does not define.

ndb makes a property for each of them when it makes the model; here each is made when it is first
asked for. Only their names are known at once: a null makes no property.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.cloud.ndb import model

from lazyentity.codec.cache import MAX_BYTES, BoundedCache, learned_bytes
from lazyentity.codec.undecoded import UNDECODED, undecoded_template
from lazyentity.codec.values import CASE_NUMBERS
from lazyentity.patches.inheritance import inherits
from lazyentity.storage.lazyvaluedict import LazyValueDict

_Expando = model.Expando
_GenericProperty: Any = model.GenericProperty
_fill = dict.update
_new = object.__new__

_NULL, _ARRAY = CASE_NUMBERS["null_value"], CASE_NUMBERS["array_value"]
_NULL_OR_ARRAY_ONLY = bytes(number if number in (_NULL, _ARRAY) else 0 for number in range(256))


class ExpandoProperties(LazyValueDict):
    """The properties of an ``Expando``: dynamic properties are made when asked for."""

    __slots__ = ("_dynamic", "_repeated")

    _dynamic: DynamicProperties
    _repeated: frozenset[str]
    """The names of the repeated properties."""

    def _compute(self, name: Any) -> Any:
        return self._dynamic.make(name, name in self._repeated)

    def all_made(self, names: Iterable[str]) -> dict[str, Any]:
        """Return a plain dict of the properties. Nobody may have asked for a dynamic one before.

        Args:
            names: the names of all properties of the model, in the order of its entity.
        """
        made = {name: prop for name, prop in dict.items(self) if prop is not UNDECODED}
        for name in names:
            if name not in made:
                made[name] = self._dynamic.make_alike(name, name in self._repeated)
        return made


_Pattern = tuple[dict[str, Any], dict[str, Any], frozenset[str]]

# By the dynamic properties, and by which of them are null, and which are arrays.
_PATTERNS: BoundedCache[tuple[DynamicProperties, bytes], _Pattern] = BoundedCache(MAX_BYTES)


class DynamicProperties:
    """Makes the dynamic properties of entities that have the same names.

    Args:
        model_class: a subclass of ``ndb.Expando``.
        names: the names of the dynamic properties.
        taken_names: the names of all properties that a model takes from the entity, in its order.
        is_kept: whether there will be further entities with these names.
    """

    def __init__(
        self,
        model_class: Any,
        names: tuple[str, ...],
        taken_names: tuple[str, ...],
        is_kept: bool,
    ) -> None:
        self._names = names
        self._taken_names = taken_names
        self._defined = dict(model_class._properties)
        self._options = _options(model_class)
        self._is_kept = is_kept
        # The attributes of such properties, not repeated and repeated.
        self._states: list[dict[str, Any] | None] = [None, None]

    def make(self, name: str, repeated: bool) -> Any:
        """Make the property that ``Expando.__setattr__`` makes.

        Args:
            name: the name of the property.
            repeated: whether the property is repeated.
        """
        indexed, write_empty_list = self._options
        made = _GenericProperty(
            name, repeated=repeated, indexed=indexed, write_empty_list=write_empty_list
        )
        made._code_name = name
        return made

    def make_alike(self, name: str, repeated: bool) -> Any:
        """As :meth:`make`, by copying another such property: its name is all that differs."""
        state = self._states[repeated]
        if state is None:
            state = self._states[repeated] = vars(self.make(name, repeated))
        made = _new(_GenericProperty)
        vars(made).update(state, _name=name, _code_name=name)
        return made

    def values_and_properties(self, entity: Any) -> tuple[dict[str, Any], ExpandoProperties | None]:
        """Return the values and the properties of a model of an entity.

        Args:
            entity: a lazy entity.

        Returns:
            The names of its values, each mapped to ``UNDECODED``; its properties, or None if the
            class defines all of them.
        """
        nulls_and_arrays = entity._wire_cases(self._names).translate(_NULL_OR_ARRAY_ONLY)
        pattern = _PATTERNS.get((self, nulls_and_arrays)) if self._is_kept else None
        if pattern is None:
            pattern = self._pattern(nulls_and_arrays)
        values, template, repeated = pattern
        if len(template) == len(self._defined):
            return values, None
        properties: Any = ExpandoProperties()
        properties._dynamic = self
        properties._repeated = repeated
        _fill(properties, template)
        return values, properties

    def _pattern(self, nulls_and_arrays: bytes) -> _Pattern:
        members = dict(zip(self._names, nulls_and_arrays, strict=True))
        values: dict[str, Any] = undecoded_template(
            name for name in self._taken_names if members.get(name) != _NULL
        )
        properties = {**self._defined, **{name: UNDECODED for name in members if name in values}}
        repeated = frozenset(name for name, member in members.items() if member == _ARRAY)
        pattern = values, properties, repeated
        if not self._is_kept:
            return pattern
        # The names and the other dicts of this object are in the key.
        size = 2 * learned_bytes(nulls_and_arrays, properties)
        _PATTERNS.keep((self, nulls_and_arrays), pattern, size)
        return pattern


def _options(model_class: Any) -> tuple[Any, Any]:
    return model_class._default_indexed, model_class._write_empty_list_for_dynamic_properties


def makes_dynamic_properties(model_class: Any) -> bool:
    """Say whether a subclass of ``ndb.Expando`` makes dynamic properties as ndb itself does."""
    return (
        inherits(model_class, ("__setattr__",), _Expando)
        and inherits(model_class, ("_clone_properties",), model.Model)
        # A descriptor would give each model different options.
        and not any(hasattr(option, "__get__") for option in _options(model_class))
        and _GenericProperty._validator is None
        and _GenericProperty._choices is None
    )


def is_dynamic(stored_name: str, name: str) -> bool:
    """Say whether ndb makes a property for a name that the class does not define.

    Of other names it makes attributes, parts of structured properties, or nothing.

    Args:
        stored_name: the name in the entity.
        name: the code name that the class has for it.
    """
    return name == stored_name and not name.startswith("_") and "." not in name
