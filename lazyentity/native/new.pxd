# Making instances of subclasses without a call from Python.

cdef extern from *:
    """
    static PyObject *lazyentity_new(PyTypeObject *base, PyTypeObject *type, PyObject *no_arguments) {
        if (!PyType_Check(type) || !PyType_IsSubtype(type, base)) {
            return PyErr_Format(
                PyExc_TypeError, "%R is not a subclass of %s", type, base->tp_name);
        }
        return base->tp_new(type, no_arguments, NULL);
    }
    """
    # As base.__new__(type), which Cython looks up and calls for any type but the base itself. None and
    # what is no type at all get a TypeError; a __new__ of the subclass is passed by.
    object new "lazyentity_new"(type base, type type, tuple no_arguments)
