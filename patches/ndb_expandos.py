"""The dynamic properties of an ``Expando``: those that ndb makes for what the class lacks.

ndb makes one for each property that an entity is stored with, when it makes the model; here each is
made when it is first asked for. Only which there are is told at once: a null makes none.
"""

from __future__ import annotations

from typing import Any

from google.cloud.ndb import model

from lazyentity.codec import messages
from lazyentity.codec.lazydict import LazyDict
from lazyentity.undecoded import UNDECODED

_Expando = model.Expando
_stored = dict.__getitem__
_fill = dict.update

_setattr = _Expando.__setattr__
_clone_properties = model.Model._clone_properties

_Value = messages.Value.DESCRIPTOR.fields_by_name
_NULL = _Value["null_value"].number
_ARRAY = _Value["array_value"].number
_NULL_OR_ARRAY_ONLY = bytes(number if number in (_NULL, _ARRAY) else 0 for number in range(256))


class LazyProperties(LazyDict):
    """The properties of one ``Expando``: those that are dynamic are made when asked for."""

    __slots__ = ("_dynamic", "_repeated")

    _dynamic: DynamicProperties
    _repeated: frozenset[str]
    """The names of the repeated ones."""

    def __getitem__(self, name: Any, /) -> Any:
        value = _stored(self, name)
        return value if value is not UNDECODED else self._make(name)

    def _make(self, name: Any) -> Any:
        self[name] = made = self._dynamic.make(name, name in self._repeated)
        return made

    def _decode_all(self) -> None:
        for name in self._undecoded():
            self._make(name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self.copy(),)


class DynamicProperties:
    """Makes what depends on the dynamic properties of entities that have the same names.

    Attributes:
        names: of the properties that the class does not define.

    Args:
        model_class: a subclass of ``ndb.Expando``.
        names: those of the dynamic properties.
        stored_names: those of all properties that a model takes from the entity, in its order.
    """

    def __init__(
        self, model_class: Any, names: tuple[str, ...], stored_names: tuple[str, ...]
    ) -> None:
        self.names = names
        self._stored_names = stored_names
        self._defined = dict(model_class._properties)
        self._options = _options(model_class)
        self._kinds: dict[bytes, tuple[dict[str, Any], dict[str, Any], frozenset[str]]] = {}

    def are_those_of(self, model_class: Any, names: tuple[str, ...]) -> bool:
        """Say whether these are still the ones of a class that lacks ``names``."""
        return (
            self.names == names
            and self._options == _options(model_class)
            and are_same(self._defined, model_class._properties)
        )

    def make(self, name: str, repeated: bool) -> Any:
        """Make the property that ``Expando.__setattr__`` makes.

        Args:
            name: the property's.
            repeated: whether it is.
        """
        indexed, write_empty_list = self._options
        made = model.GenericProperty(
            name, repeated=repeated, indexed=indexed, write_empty_list=write_empty_list
        )
        made._code_name = name
        return made

    def of(self, entity: Any) -> tuple[dict[str, Any], LazyProperties | None]:
        """Return what a model of an entity has.

        Args:
            entity: a lazy entity.

        Returns:
            The names of its values, each mapped to ``UNDECODED``; its properties, or None if they
            are those of its class.
        """
        kinds = entity._wire_members(self.names).translate(_NULL_OR_ARRAY_ONLY)
        found = self._kinds.get(kinds)
        if found is None:
            found = self._learn(kinds)
        values, templates, repeated = found
        if len(templates) == len(self._defined):
            return values, None
        properties: Any = LazyProperties()
        properties._dynamic = self
        properties._repeated = repeated
        _fill(properties, templates)
        return values, properties

    def _learn(self, kinds: bytes) -> tuple[dict[str, Any], dict[str, Any], frozenset[str]]:
        of_names = dict(zip(self.names, kinds, strict=True))
        # Not by dict.fromkeys(), as in Layout.
        values = {name: UNDECODED for name in self._stored_names if of_names.get(name) != _NULL}
        properties = dict(self._defined)
        properties.update((name, UNDECODED) for name in self.names if name in values)
        repeated = frozenset(name for name in self.names if of_names[name] == _ARRAY)
        if len(self._kinds) >= _MAX_KINDS:
            # Which properties are null, or arrays, mostly differs little.
            self._kinds.clear()
        self._kinds[kinds] = values, properties, repeated
        return self._kinds[kinds]


_MAX_KINDS = 64


def _options(model_class: Any) -> tuple[Any, Any]:
    return model_class._default_indexed, model_class._write_empty_list_for_dynamic_properties


def are_same(some: dict[str, Any], others: dict[str, Any]) -> bool:
    """Say whether two dicts have the same names and the same properties."""
    # Comparing properties by == makes filters of queries.
    return some.keys() == others.keys() and all(prop is others[name] for name, prop in some.items())


def is_dynamic(model_class: Any, stored_name: str, name: str) -> bool:
    """Say whether ndb makes a property for a name, and that is all.

    Args:
        model_class: a subclass of ``ndb.Expando`` that has no property of that name.
        stored_name: the name in the entity.
        name: what the class makes of it.
    """
    return (
        name == stored_name
        # Attributes, and parts of structured properties.
        and not name.startswith("_")
        and "." not in name
        and not hasattr(model_class, name)
        and name not in model_class._properties
        and model_class.__setattr__ is _setattr
        and model_class._clone_properties is _clone_properties
        and not any(hasattr(option, "__get__") for option in _options(model_class))
    )
