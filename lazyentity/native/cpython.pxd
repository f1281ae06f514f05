# CPython's own functions on objects, where Cython has none or a slower one.

# Makes an instance of a subclass without a call from Python.
cdef extern from *:
    """
    static inline int lazyentity_require_subclass(PyTypeObject *base, PyTypeObject *type) {
        if (!PyType_Check(type) || !PyType_IsSubtype(type, base)) {
            PyErr_Format(PyExc_TypeError, "%R is not a subclass of %s", type, base->tp_name);
            return -1;
        }
        return 0;
    }

    static inline PyObject *lazyentity_new_dict(PyTypeObject *type, PyObject *no_arguments) {
        return PyDict_Type.tp_new(type, no_arguments, NULL);
    }

    static inline PyObject *lazyentity_new(PyTypeObject *base, PyTypeObject *type, PyObject *no_arguments) {
        if (lazyentity_require_subclass(base, type) < 0) {
            return NULL;
        }
        return base->tp_new(type, no_arguments, NULL);
    }
    """
    # Anything that is no type raises a TypeError, too.
    int require_subclass "lazyentity_require_subclass"(type base, type type) except -1
    # As dict.__new__(type), if type is known to be a subclass: its own attributes are all NULL.
    object new_dict "lazyentity_new_dict"(type type, tuple no_arguments)
    # As base.__new__(type), which Cython looks up and calls for any type but the base itself. It bypasses
    # a __new__ of the subclass.
    object new "lazyentity_new"(type base, type type, tuple no_arguments)


# The garbage collector has to look at the objects alone that can be part of a cycle.
cdef extern from *:
    """
    static inline void lazyentity_untrack(PyObject *instance) {
        if (PyType_IS_GC(Py_TYPE(instance))) {
            PyObject_GC_UnTrack(instance);
        }
    }

    static inline void lazyentity_track(PyObject *instance) {
        if (!PyObject_GC_IsTracked(instance)) {
            PyObject_GC_Track(instance);
        }
    }

    static inline void lazyentity_leave_untracked(PyTypeObject *base, PyObject *instance) {
    #if PY_VERSION_HEX < 0x030E0000
        PyTypeObject *type = Py_TYPE(instance);
        Py_ssize_t weak_references = type->tp_weaklistoffset > 0 ? (Py_ssize_t)sizeof(PyObject *) : 0;
        if (type->tp_basicsize == base->tp_basicsize + weak_references) {
            PyObject_GC_UnTrack(instance);
        }
    #endif
    }
    """
    # Of a class without support for the collector, which CPython adds in a subclass written in Python.
    void untrack "lazyentity_untrack"(object instance)
    # To be called when an attribute may refer to a container.
    void track "lazyentity_track"(object instance)
    # Of an instance whose only references to containers will be in the dict. CPython before 3.14 tracks a
    # dict when it gets a container, a dict of a subclass too; it does not see what slots of a subclass get.
    void leave_untracked "lazyentity_leave_untracked"(type base, object instance)


# The dictionary of an instance's attributes: absent until the first use of it.
cdef extern from *:
    """
    static inline void lazyentity_drop_instance_dict(PyObject *instance) {
        PyObject **slot = _PyObject_GetDictPtr(instance);
        Py_CLEAR(*slot);
    }

    static inline void lazyentity_set_instance_dict(PyObject *instance, PyObject *attributes) {
        PyObject **slot = _PyObject_GetDictPtr(instance);
        PyObject *earlier = *slot;
        Py_INCREF(attributes);
        *slot = attributes;
        lazyentity_track(instance);
        Py_XDECREF(earlier);
    }

    static inline PyObject *lazyentity_instance_dict(PyObject *instance) {
        PyObject **slot = _PyObject_GetDictPtr(instance);
        if (*slot == NULL) {
            PyObject *made = PyDict_New();
            if (made == NULL) {
                return NULL;
            }
            if (*slot == NULL) {
                *slot = made;
                lazyentity_track(instance);
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
    # that are the first to ask for the dictionary must get the same one; CPython's own function gives
    # them two.
    object instance_dict "lazyentity_instance_dict"(object instance)
