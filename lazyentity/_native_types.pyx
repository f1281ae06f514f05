# cython: language_level=3, binding=True
"""What CPython knows of a class, for the native backend."""

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        unsigned long tp_flags
        unsigned int tp_version_tag
    unsigned long Py_TPFLAGS_VALID_VERSION_TAG


def type_version(kind):
    """As :func:`lazyentity.codec.types.type_version`."""
    # Not declared as a type: Cython takes no instance of a metaclass for one.
    if not isinstance(kind, type):
        raise TypeError(f"{kind!r} is not a class")
    cdef PyTypeObject* described = <PyTypeObject*>kind
    if described.tp_flags & Py_TPFLAGS_VALID_VERSION_TAG:
        return described.tp_version_tag
    return 0
