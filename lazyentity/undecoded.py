"""The value that stands in dict storage for a property that has not been decoded yet."""

from __future__ import annotations

from typing import NoReturn

_LEAKED = (
    "an undecoded property was read from the storage of a LazyEntity, or of a dict of a model, "
    "past its dict interface; pass lazyentity.materialize(entity) or dict(entity) instead"
)


class UndecodedType:
    """Type of :data:`UNDECODED`.

    C code that reads a dict's storage directly gets hold of the sentinel. Whatever it then does
    with it must fail loudly instead of passing for data: a JSON encoder's ``default=str``, a
    comparison made by ``dict`` itself, pickling, an encoder that takes an object for the attributes
    it lists.

    Raises:
        TypeError: by every operation but identity.
    """

    __slots__ = ()

    @property
    def undecoded(self) -> UndecodedType:
        """Itself.

        An encoder that takes an object for its attributes, as the one of pandas does, never comes
        to an end with it, and says so.
        """
        return self

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(_LEAKED)

    __repr__ = __str__ = __format__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __bytes__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


UNDECODED = UndecodedType()
"""Stands in the storage of a lazy entity for each property that was not decoded yet."""
