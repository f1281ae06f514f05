"""Versions of classes, as CPython keeps them."""

from lazyentity.native.conditions cimport version_of


def type_version(kind):
    """As :meth:`lazyentity._backend.abc.Backend.type_version`."""
    # Not declared as a type: Cython takes no instance of a metaclass for one.
    if not isinstance(kind, type):
        raise TypeError(f"{kind!r} is not a class")
    return version_of(kind)
