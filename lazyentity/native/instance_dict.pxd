# The dictionary of an instance's attributes: not there until somebody wants it.

cdef extern from *:
    """
    static void lazyentity_drop_instance_dict(PyObject *instance) {
        PyObject **slot = _PyObject_GetDictPtr(instance);
        Py_CLEAR(*slot);
    }

    static void lazyentity_set_instance_dict(PyObject *instance, PyObject *attributes) {
        PyObject **slot = _PyObject_GetDictPtr(instance);
        PyObject *earlier = *slot;
        Py_INCREF(attributes);
        *slot = attributes;
        Py_XDECREF(earlier);
    }

    static PyObject *lazyentity_instance_dict(PyObject *instance) {
        PyObject **slot = _PyObject_GetDictPtr(instance);
        if (*slot == NULL) {
            PyObject *made = PyDict_New();
            if (made == NULL) {
                return NULL;
            }
            if (*slot == NULL) {
                *slot = made;
            }
            else {
                Py_DECREF(made);
            }
        }
        Py_INCREF(*slot);
        return *slot;
    }
    """
    void set_instance_dict "lazyentity_set_instance_dict"(object instance, dict attributes)
    void drop_instance_dict "lazyentity_drop_instance_dict"(object instance)
    # CPython before 3.12 may collect garbage, and so run other threads, while it allocates. Two threads
    # that are the first to want the dictionary must get the same; those of CPython's own do not.
    object instance_dict "lazyentity_instance_dict"(object instance)
