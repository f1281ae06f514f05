# Making instances of subclasses without a call from Python.

cdef extern from *:
    """
    static PyObject *lazyentity_new(PyTypeObject *base, PyTypeObject *type, PyObject *no_arguments) {
        if (!PyType_IsSubtype(type, base)) {
            return PyErr_Format(
                PyExc_TypeError, "%s is not a subclass of %s", type->tp_name, base->tp_name);
        }
        return base->tp_new(type, no_arguments, NULL);
    }
    """
    # As base.__new__(type), which Cython looks up and calls for any type but the base itself.
    object new "lazyentity_new"(type base, type type, tuple no_arguments)
