"""How many properties are undecoded in this process.

:mod:`lazyentity._alive` documents it.
"""

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE

import sys

from lazyentity.codec.iterators import BARE, ITERATORS
from lazyentity.codec.undecoded import COUNTERWEIGHT as _COUNTERWEIGHT, UNDECODED as _UNDECODED

cdef extern from *:
    """
    #include "structmember.h"

    static Py_ssize_t lazyentity_references(PyObject *value) { return (Py_ssize_t)Py_REFCNT(value); }

    static PyObject *lazyentity_namespace(PyObject *module)
    {
        return PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    }

    static PyObject **lazyentity_items(PyObject *args) { return ((PyTupleObject *)args)->ob_item; }

    /* Types of iterators, whose items may be made when they are taken. */
    #define LAZYENTITY_ITERATORS 32
    #define LAZYENTITY_LEAVES 32
    /* Of containers in each other: a cycle ends there. */
    #define LAZYENTITY_DEPTH 6
    #define LAZYENTITY_LOOKS 10000
    static PyTypeObject *lazyentity_iterators[LAZYENTITY_ITERATORS];
    static int lazyentity_iterator_count;

    /* Returns -1 with an error, if there are too many. */
    static int lazyentity_add(PyTypeObject **types, int *count, int most, PyObject *type)
    {
        if (*count == most) {
            PyErr_SetString(PyExc_OverflowError, "too many types");
            return -1;
        }
        Py_INCREF(type);
        types[(*count)++] = (PyTypeObject *)type;
        return 0;
    }

    static int lazyentity_add_iterator(PyObject *type)
    {
        return lazyentity_add(lazyentity_iterators, &lazyentity_iterator_count, LAZYENTITY_ITERATORS, type);
    }

    /* The class of the client's iterators over entities, once it was imported. */
    static PyTypeObject *lazyentity_pages;

    static void lazyentity_set_pages(PyObject *type)
    {
        Py_XINCREF(type);
        lazyentity_pages = (PyTypeObject *)type;
    }

    #define LAZYENTITY_SCALARS \
        (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS | Py_TPFLAGS_BYTES_SUBCLASS)

    static inline int lazyentity_is_scalar(PyObject *value)
    {
        /* One look for most types, bool among them. Classes of Python's can have further attributes. */
        unsigned long flags = Py_TYPE(value)->tp_flags & LAZYENTITY_SCALARS;
        return (flags != 0 && !(flags & Py_TPFLAGS_HEAPTYPE)) || value == Py_None || PyFloat_CheckExact(value);
    }

    static inline int lazyentity_makes_items(PyObject *value)
    {
        PyTypeObject *type = Py_TYPE(value);
        int i;
        if (type->tp_iter == NULL) return 0;
        if (type->tp_iternext == NULL && (lazyentity_pages == NULL || lazyentity_pages->tp_iternext != NULL)) {
            return 0;
        }
        for (i = 0; i < lazyentity_iterator_count; i++) {
            if (type == lazyentity_iterators[i]) return 1;
        }
        return lazyentity_pages != NULL && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)
            && PyType_IsSubtype(type, lazyentity_pages);
    }

    /* How many items, from the first one on, are of a type. Most lists are homogeneous. */
    static Py_ssize_t lazyentity_alike(PyObject **items, Py_ssize_t count, PyTypeObject *type)
    {
        Py_ssize_t i = 0;
        while (i + 4 <= count && (Py_TYPE(items[i]) == type) & (Py_TYPE(items[i + 1]) == type)
            & (Py_TYPE(items[i + 2]) == type) & (Py_TYPE(items[i + 3]) == type)) i += 4;
        while (i < count && Py_TYPE(items[i]) == type) i++;
        return i;
    }

    /* Whether a look into a dict would find no object that refers to others, by the garbage collector's word: it
       tracks a dict once it holds one. Python 3.13 does not track the dict of an instance then; 3.14 tracks all. */
    #define LAZYENTITY_IS_FLAT(dict) (PY_VERSION_HEX < 0x030D0000 && !PyObject_GC_IsTracked(dict))

    /* Whether a value, or an item of it if it is a container of Python's, makes items. No code is run. */
    static int lazyentity_leads_to_items(PyObject *value)
    {
        PyTypeObject *type = Py_TYPE(value);
        PyObject *held, **items;
        Py_ssize_t i = 0;
        if (lazyentity_is_scalar(value)) return 0;
        if (type == &PyDict_Type) {
            /* An iterator refers to others. */
            if (LAZYENTITY_IS_FLAT(value)) return 0;
            while (PyDict_Next(value, &i, NULL, &held)) {
                if (!lazyentity_is_scalar(held) && lazyentity_makes_items(held)) return 1;
            }
            return 0;
        }
        if (type == &PyList_Type || type == &PyTuple_Type) {
            items = PySequence_Fast_ITEMS(value);
            /* After a string or a number, the libraries refuse an iterator, or keep it as it is. */
            if (Py_SIZE(value) > 0 && items[0] != Py_None && lazyentity_is_scalar(items[0])) return 0;
            while (i < Py_SIZE(value)) {
                if (lazyentity_makes_items(items[i])) return 1;
                i += lazyentity_alike(items + i, Py_SIZE(value) - i, Py_TYPE(items[i]));
            }
            return 0;
        }
        return lazyentity_makes_items(value);
    }

    /* Types of values that hold nothing, beside those that are tested for one by one. */
    static PyTypeObject *lazyentity_leaves[LAZYENTITY_LEAVES];
    static int lazyentity_leaf_count;

    static int lazyentity_add_leaf(PyObject *type)
    {
        return lazyentity_add(lazyentity_leaves, &lazyentity_leaf_count, LAZYENTITY_LEAVES, type);
    }

    /* pydantic's class of models, once it was imported, and where the slots of an instance are. */
    static PyTypeObject *lazyentity_model;
    static Py_ssize_t lazyentity_model_slots[3];

    static int lazyentity_set_model(PyObject *type, PyObject *slots)
    {
        PyMemberDef *member;
        Py_ssize_t i;
        for (i = 0; i < 3; i++) {
            if (Py_TYPE(PyTuple_GET_ITEM(slots, i)) != &PyMemberDescr_Type) return 0;
            member = ((PyMemberDescrObject *)PyTuple_GET_ITEM(slots, i))->d_member;
            if (member->type != T_OBJECT_EX) return 0;
            lazyentity_model_slots[i] = member->offset;
        }
        Py_INCREF(type);
        lazyentity_model = (PyTypeObject *)type;
        return 0;
    }

    static int lazyentity_is_bare_within(PyObject *value, int depth, int is_flat, int *looks);

    /* Whether the fields of a model are bare, and it has neither further nor private attributes. */
    static int lazyentity_is_bare_model(PyObject *value, int depth, int is_flat, int *looks)
    {
        PyObject *held[3];
        int i;
        for (i = 0; i < 3; i++) held[i] = *(PyObject **)((char *)value + lazyentity_model_slots[i]);
        /* One that was not made yet has no set of fields, and reading its dict would make one. */
        if (held[0] == NULL || (held[1] != NULL && held[1] != Py_None) || (held[2] != NULL && held[2] != Py_None)) {
            return 0;
        }
        held[0] = PyObject_GenericGetDict(value, NULL);
        if (held[0] == NULL) {
            PyErr_Clear();
            return 0;
        }
        /* The model keeps it. */
        Py_DECREF(held[0]);
        return PyDict_CheckExact(held[0]) && lazyentity_is_bare_within(held[0], depth, is_flat, looks);
    }

    static int lazyentity_is_bare_within(PyObject *value, int depth, int is_flat, int *looks)
    {
        PyTypeObject *type = Py_TYPE(value);
        PyObject *held, **items;
        Py_ssize_t i = 0;
        if (lazyentity_is_scalar(value)) return 1;
        if (type == &PyDict_Type) {
            if (depth == 0 || --*looks < 0) return 0;
            if (is_flat && LAZYENTITY_IS_FLAT(value)) return 1;
            while (PyDict_Next(value, &i, NULL, &held)) {
                if (!lazyentity_is_scalar(held) && !lazyentity_is_bare_within(held, depth - 1, is_flat, looks)) return 0;
            }
            return 1;
        }
        if (type == &PyList_Type || type == &PyTuple_Type) {
            if (depth == 0 || --*looks < 0) return 0;
            items = PySequence_Fast_ITEMS(value);
            while (i < Py_SIZE(value)) {
                if (lazyentity_is_scalar(items[i])) {
                    i += lazyentity_alike(items + i, Py_SIZE(value) - i, Py_TYPE(items[i]));
                    continue;
                }
                /* Rows, without a call for each. */
                while (is_flat && depth > 1 && i < Py_SIZE(value) && PyDict_CheckExact(items[i])
                    && LAZYENTITY_IS_FLAT(items[i]) && --*looks >= 0) i++;
                if (i == Py_SIZE(value)) break;
                if (!lazyentity_is_bare_within(items[i++], depth - 1, is_flat, looks)) return 0;
            }
            return 1;
        }
        if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && lazyentity_model != NULL
            && PyType_IsSubtype(type, lazyentity_model)) return lazyentity_is_bare_model(value, depth, is_flat, looks);
        for (i = 0; i < lazyentity_leaf_count; i++) if (type == lazyentity_leaves[i]) return 1;
        return 0;
    }

    /* Whether a value is a scalar, or containers of Python's down to scalars. No code is run.
       With is_flat, objects that refer to no others need not be scalars inside of dicts. */
    static int lazyentity_is_bare(PyObject *value, int depth, int is_flat)
    {
        /* Containers can be shared, at each level anew. */
        int looks = LAZYENTITY_LOOKS;
        return lazyentity_is_bare_within(value, depth, is_flat, &looks);
    }

    static int (*lazyentity_each_settled)(PyObject *const *, Py_ssize_t);

    static PyObject *lazyentity_call_each_settled(PyObject *self, PyObject *const *items, Py_ssize_t count)
    {
        return PyBool_FromLong(lazyentity_each_settled(items, count));
    }

    /* Cython would make a tuple of the arguments. */
    static PyMethodDef lazyentity_each_settled_definition = {
        "each_settled", (PyCFunction)(void (*)(void))lazyentity_call_each_settled, METH_FASTCALL,
        "As :func:`lazyentity._alive.each_settled`."
    };

    static PyObject *lazyentity_make_each_settled(int (*function)(PyObject *const *, Py_ssize_t))
    {
        lazyentity_each_settled = function;
        return PyCFunction_New(&lazyentity_each_settled_definition, NULL);
    }
    """
    const int DEPTH "LAZYENTITY_DEPTH"
    int add_leaf "lazyentity_add_leaf"(object kind) except -1
    bint lazyentity_is_bare(PyObject* value, int depth, bint is_flat) noexcept
    ctypedef bint (*EachSettled)(PyObject* const* values, Py_ssize_t count) noexcept
    object make_each_settled "lazyentity_make_each_settled"(EachSettled function)
    int set_model "lazyentity_set_model"(object kind, tuple slots) except -1
    Py_ssize_t references "lazyentity_references"(PyObject* value) noexcept
    PyObject* namespace_of "lazyentity_namespace"(object module)
    PyObject** items_of "lazyentity_items"(object args)
    int add_iterator "lazyentity_add_iterator"(object kind) except -1
    void set_pages "lazyentity_set_pages"(object kind)
    bint leads_to_items "lazyentity_leads_to_items"(PyObject* value) noexcept

cdef PyObject* _undecoded = <PyObject*>_UNDECODED
cdef PyObject* _counterweight = <PyObject*>_COUNTERWEIGHT
cdef Py_ssize_t _by_names = -1  # what the names of modules add; at first as if there were none
cdef Py_ssize_t _modules = 0  # how many modules there were then
cdef dict _loaded = sys.modules
# Held, so that the references of their names are there as long as they are counted.
cdef list _namespaces = []

for _kind in ITERATORS:
    add_iterator(_kind)
for _kind in BARE:
    add_leaf(_kind)


cdef inline Py_ssize_t _count() noexcept:
    return references(_undecoded) - references(_counterweight) - _by_names


cdef int _count_names() except -1:
    global _by_names, _modules, _namespaces
    cdef Py_ssize_t names = 0
    cdef Py_ssize_t position
    cdef Py_ssize_t before
    cdef PyObject* namespace
    cdef PyObject* value
    cdef list found = []
    cdef set seen = set()
    cdef Py_ssize_t modules = len(_loaded)
    # Copied: allocation may run the garbage collector, and so other threads.
    for name, module in list(_loaded.items()):
        # A name of another module may change at any time: it counts as a property, which is safe.
        if not isinstance(name, str) or name.partition(".")[0] != "lazyentity":
            continue
        namespace = namespace_of(module)
        if namespace is NULL or <Py_ssize_t>namespace in seen:
            continue
        seen.add(<Py_ssize_t>namespace)
        before = names
        position = 0
        while PyDict_Next(<object>namespace, &position, NULL, &value):
            if value == _undecoded:
                names += 1
            elif value == _counterweight:
                names -= 1
        if names != before:
            found.append(<object>namespace)
    # In this order: dropping the others can run code, which may ask for the count.
    _by_names = names
    _modules = modules
    _namespaces = found
    return 0


cdef bint is_any() noexcept:
    if _count() <= 0:
        return False
    if len(_loaded) == _modules:
        return True
    # Imports in the meantime can have added names.
    try:
        _count_names()
    except Exception:
        return True
    return _count() > 0


cdef bint holds_nothing(PyObject* const* values, Py_ssize_t count, bint is_deep, bint is_flat) noexcept:
    cdef Py_ssize_t index
    cdef bint looks_deep = is_deep or is_any()
    for index in range(count):
        # Cheaper than calling a hook: most arguments are containers of scalars.
        if not (
            lazyentity_is_bare(values[index], DEPTH, is_flat)
            if looks_deep
            else not leads_to_items(values[index])
        ):
            return False
    return True


cdef bint holds_scalars(PyObject* value, int depth) noexcept:
    return lazyentity_is_bare(value, depth, False)


cdef bint _each_holds_nothing(PyObject* const* values, Py_ssize_t count) noexcept:
    return holds_nothing(values, count, False, False)


cdef bint all_hold_nothing(tuple args, kwargs, bint is_deep, bint is_flat) noexcept:
    cdef Py_ssize_t position = 0
    cdef PyObject* value
    if not holds_nothing(items_of(args), PyTuple_GET_SIZE(args), is_deep, is_flat):
        return False
    if kwargs is not None:
        while PyDict_Next(kwargs, &position, NULL, &value):
            if not holds_nothing(&value, 1, is_deep, is_flat):
                return False
    return True


def undecoded_count():
    """As :func:`lazyentity._alive.undecoded_count`."""
    _count_names()
    return _count()


def any_undecoded():
    """As :func:`lazyentity._alive.any_undecoded`."""
    return is_any()


def is_bare(value):
    """As :func:`lazyentity._alive.is_bare`."""
    return lazyentity_is_bare(<PyObject*>value, DEPTH, False)


def are_bare(tuple args not None, kwargs):
    """As :func:`lazyentity._alive.are_bare`."""
    return all_hold_nothing(args, kwargs, True, False)


def are_settled(tuple args not None, kwargs):
    """As :func:`lazyentity._alive.are_settled`."""
    return all_hold_nothing(args, kwargs, False, False)


each_settled = make_each_settled(_each_holds_nothing)


def makes_entities_later(kind):
    """As :func:`lazyentity._alive.makes_entities_later`."""
    set_pages(kind)


def holds_no_values(kind):
    """As :func:`lazyentity._alive.holds_no_values`."""
    add_leaf(kind)


def holds_its_fields(kind, tuple slots not None):
    """As :func:`lazyentity._alive.holds_its_fields`."""
    if len(slots) != 3 or not isinstance(kind, type):
        raise TypeError("a class and its three slots are needed")
    set_model(kind, slots)
