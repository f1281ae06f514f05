"""The attributes of a lazy model: unread attributes are missing from its ``__dict__``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.appengine.ext import db

from lazyentity.codec.describing import property_name, safe_str
from lazyentity.codec.errors import note_value
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.db.mappings import NOTHING, DbModelMapping

_found = dict.get
_getattribute = object.__getattribute__
_has = dict.__contains__
_keep = dict.setdefault


def original_value(entity: Any, name: str) -> Any:
    """Return the value that a property of a lazy entity came with.

    A model and its entity have the same list, as in stock.
    """
    if _found(entity, name) is UNDECODED:
        # Not its result: another thread may assign a value to the entity meanwhile.
        entity._decode(name)
    try:
        return entity._originals[name]
    except KeyError:
        # It cannot change, or it was assigned before anybody read it.
        return entity._compute(name)


ABSENT = object()
"""Takes the place of the value of a property that the entity lacks."""


def value_for(prop: Any, value: Any, is_projection: bool) -> Any:
    """Return the value that db gives a model's property, made of the entity's ``value``."""
    if value is ABSENT:
        return prop.default_value()
    if is_projection:
        return prop.make_value_from_datastore_index_value(value)
    return prop.make_value_from_datastore(value)


class LazyAttributes(dict[str, Any]):
    """The ``__dict__`` of a lazy model.

    Python looks for an attribute in the storage of this dict, and if it is missing there it calls
    ``__getattr__`` of the class, which calls :meth:`load`. Methods that look up one attribute load
    that one first, and all others everything that is missing. Copies and pickles are plain dicts,
    so that they can be loaded without lazyentity.
    """

    __slots__ = ("_is_projection", "_mapping", "_source")

    _is_projection: bool | None
    """Whether the entity is a projection; None until first asked."""

    _mapping: DbModelMapping
    """The mapping of the model's class; :data:`NOTHING` once all attributes are made."""
    _source: Any
    """The lazy entity."""

    def load(self, attribute: str) -> bool:
        """Make the value of an attribute that is missing.

        Returns:
            Whether the attribute belongs to a property.

        Raises:
            As db, when it makes the model. A ``RuntimeError`` takes the place of an
            ``AttributeError``, which Python and db take for a missing attribute.
        """
        prop = self._mapping.attributes.get(attribute)
        if prop is None:
            return False
        try:
            return self.make(prop)
        except AttributeError as error:
            raise RuntimeError(
                f"property {property_name(prop.name)} cannot be read: its value was refused with "
                f"an AttributeError ({safe_str(error)})"
            ) from error

    def make(self, prop: Any) -> bool:
        """As :meth:`load`, for a property, with the errors of db alone."""
        source = self._source
        name = prop.name
        if name in source._index.shape.ordinals:
            # As the entity itself does.
            value: Any = source._index.take(source, name, name, None, None)
            if value is UNDECODED:
                value = original_value(source, name)
        elif self.is_projection():
            return False
        else:
            value = ABSENT
        try:
            self.keep(prop, value)
        except Exception as error:
            note_value(error, name, source._described)
            raise
        return True

    def keep(self, prop: Any, value: Any) -> None:
        """Set the attributes of a property, as its ``__set__`` does, where they are missing.

        Args:
            prop: the property.
            value: the entity's value, or :data:`ABSENT`.
        """
        is_projection = self._is_projection
        if is_projection is None:
            is_projection = self.is_projection()
        if value is ABSENT or is_projection:
            value = value_for(prop, value, is_projection)
        else:
            value = prop.make_value_from_datastore(value)
        value = prop.validate(value)
        name = prop._attr_name()
        if isinstance(prop, db.ReferenceProperty):
            resolved = None if value is None or isinstance(value, db.Key) else value
            _keep(self, f"_RESOLVED{name}", resolved)
            value = value if resolved is None else value.key()
        # Last: another thread may read this attribute as soon as it is there.
        _keep(self, name, value)

    def is_projection(self) -> bool:
        """Say whether the entity is a projection, without looking at its bytes again."""
        known = self._is_projection
        if known is None:
            known = self._is_projection = self._source.is_projection()
        return known

    def load_all(self) -> None:
        """Load all attributes that are missing."""
        for attribute in self._mapping.attributes:
            if not _has(self, attribute):
                self.load(attribute)
        self._mapping = NOTHING

    def is_unread(self, prop: Any) -> bool:
        """Say whether the attribute of a property is missing still."""
        attribute = prop._attr_name()
        return attribute in self._mapping.attributes and not _has(self, attribute)

    def copy(self) -> dict[str, Any]:
        """As dict: a plain dict of everything."""
        self.load_all()
        # dict.copy() would call __getitem__, as the class has an __iter__, and can be interrupted.
        return dict(dict.items(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self.copy(),)


def _completing(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    @functools.wraps(method)
    def complete(self: LazyAttributes, *args: Any, **kwargs: Any) -> Any:
        for attributes in (self, *args):
            if type(attributes) is LazyAttributes:
                attributes.load_all()
        return method(self, *args, **kwargs)

    return complete


def _looking_up(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    @functools.wraps(method)
    def look_up(self: LazyAttributes, attribute: Any, /, *args: Any) -> Any:
        if not _has(self, attribute):
            self.load(attribute)
        return method(self, attribute, *args)

    return look_up


for _name in (
    "__delitem__",
    "__eq__",
    "__ior__",
    "__iter__",
    "__len__",
    "__ne__",
    "__or__",
    "__repr__",
    "__reversed__",
    "__ror__",
    "clear",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
):
    setattr(LazyAttributes, _name, _completing(_name))

# functools.cached_property calls get().
for _name in ("__contains__", "__getitem__", "get"):
    setattr(LazyAttributes, _name, _looking_up(_name))


def replace_getattr(
    original: Callable[[Any, str], Any] | None, _is_active: Callable[[], bool]
) -> Callable[[Any, str], Any]:
    """Replace the ``__getattr__`` of ``db.Expando``, or give ``db.Model``, which has none, one."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807  # its name
        attributes = _getattribute(self, "__dict__")
        if type(attributes) is LazyAttributes:
            attributes.load(name)
            # Another thread may have made this attribute, or all of them.
            value = _found(attributes, name, ABSENT)
            if value is not ABSENT:
                return value
        if original is not None:
            return original(self, name)
        # Raises the original AttributeError.
        kind: Any = type(self)
        return kind.__getattribute__(self, name)

    return __getattr__


def property_get(
    original: Callable[[Any, Any, Any], Any], _is_active: Callable[[], bool]
) -> Callable[[Any, Any, Any], Any]:
    """Replace ``db.Property.__get__``, which takes the value from an attribute of the model.

    At the first read, Python would make an error and then call ``__getattr__``.
    """

    @functools.wraps(original)
    def __get__(self: Any, model_instance: Any, model_class: Any) -> Any:  # noqa: N807  # its name
        attributes = getattr(model_instance, "__dict__", None)
        if type(attributes) is LazyAttributes:
            attribute = self._attr_name()
            value = _found(attributes, attribute, ABSENT)
            if value is ABSENT and attributes.load(attribute):
                value = _found(attributes, attribute, ABSENT)
            if value is not ABSENT:
                return value
        return original(self, model_instance, model_class)

    return __get__
