"""The value that stands in dict storage for a property that has not been decoded yet."""

from __future__ import annotations

from typing import Any, NoReturn

_LEAKED = (
    "an undecoded property was read from the storage of a LazyEntity, or of a dict of a model, "
    "past its dict methods; pass lazyentity.materialize(entity) instead"
)


class UndecodedType:
    """Type of :data:`UNDECODED`.

    C code that reads a dict's storage directly gets hold of the sentinel. Whatever it then does
    with it must fail loudly instead of passing for data: a JSON encoder's ``default=str``, a
    comparison made by ``dict`` itself, pickling, an encoder that takes an object for the attributes
    it lists. Only ``repr`` answers, with what to do: other libraries put it into their error texts.

    Raises:
        TypeError: by every operation but identity and ``repr``.
    """

    __slots__ = ()

    @property
    def undecoded(self) -> UndecodedType:
        """Itself.

        An encoder that takes an object for its attributes, as the one of pandas does, never comes
        to an end with it, and says so.
        """
        return self

    def __repr__(self) -> str:
        return f"<{_LEAKED}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(_LEAKED)

    __str__ = __format__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __bytes__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


UNDECODED = UndecodedType()
"""Stands in the storage of a lazy entity for each property that was not decoded yet."""

_CONTAINERS = (list, dict)
_SCALARS = frozenset((bool, bytes, float, int, str, type(None)))


def keeps_undecoded(mapping: Any) -> bool:
    """Say whether the sentinel in the storage of a dict means that a value is still to be decoded.

    In any other dict it got out of such a one.
    """
    return hasattr(type(mapping), "_undecoded")


def holds_undecoded(value: Any, *, trusts_lazy: bool = False) -> bool:
    """Say whether a value is the sentinel that got out, or has it in its lists and dicts.

    The time that this takes is linear in the size of the lists and dicts.

    Args:
        value: any value.
        trusts_lazy: whether lazy entities and the dicts of models are left out: what is assigned to
            them was checked then.
    """
    if value is UNDECODED:
        return True
    if not isinstance(value, _CONTAINERS):
        return False
    pending: list[Any] = [value]
    seen = {id(value)}
    for container in pending:
        is_dict = isinstance(container, dict)
        keeps = is_dict and keeps_undecoded(container)
        if keeps and trusts_lazy:
            continue
        items = list(dict.values(container) if is_dict else list.__iter__(container))
        kinds = set(map(type, items))
        if kinds <= _SCALARS:
            continue
        if UndecodedType in kinds and not keeps:
            return True
        if not any(issubclass(kind, _CONTAINERS) for kind in kinds):
            continue
        for item in items:
            if isinstance(item, _CONTAINERS) and id(item) not in seen:
                seen.add(id(item))
                pending.append(item)
    return False


def require_decoded(name: object, value: object) -> None:
    """Check a value that is to be assigned.

    Raises:
        TypeError: if :func:`holds_undecoded` of it.
    """
    if holds_undecoded(value, trusts_lazy=True):
        raise assigned(name)


def assigned(name: object) -> TypeError:
    """Return the error of assigning the sentinel."""
    return TypeError(
        f"the value for property {name!r} is, or holds, an undecoded property that was read past "
        "the dict methods of a LazyEntity; take it from lazyentity.materialize(entity) instead"
    )
