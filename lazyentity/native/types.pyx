"""Versions of classes, as CPython keeps them."""

cdef extern from *:
    """
    static unsigned int lazyentity_type_version(PyObject *kind) {
    #if PY_VERSION_HEX < 0x030D0000
        /* Later versions set the tag itself to 0. */
        if (!(((PyTypeObject *)kind)->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) {
            return 0;
        }
    #endif
        return ((PyTypeObject *)kind)->tp_version_tag;
    }
    """
    unsigned int version_of "lazyentity_type_version"(object kind)


def type_version(kind):
    """As :meth:`lazyentity._backend.abc.Backend.type_version`."""
    # Not declared as a type: Cython takes no instance of a metaclass for one.
    if not isinstance(kind, type):
        raise TypeError(f"{kind!r} is not a class")
    return version_of(kind)
