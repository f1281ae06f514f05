# Walks over dicts of the caller, which may change while Python code runs.

from cpython.dict cimport PyDict_Next
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject

from lazyentity.native.entities cimport is_naive_or_in_utc

cdef extern from "Python.h":
    Py_ssize_t PyDict_GET_SIZE(object mapping)

cdef extern from *:
    """
    static int lazyentity_is_quiet(PyObject *value) {
        PyTypeObject *type = Py_TYPE(value);
        return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type
            || type == &PyBool_Type || value == Py_None || type == &PyBytes_Type;
    }

    static int lazyentity_is_like_text(PyObject *name) {
        return Py_TYPE(name)->tp_richcompare == PyUnicode_Type.tp_richcompare;
    }

    #define lazyentity_is_exact(value) (PyList_CheckExact(value) || PyDict_CheckExact(value))
    """
    # Whether nothing but an error of the value runs Python code while it is encoded.
    bint is_quiet "lazyentity_is_quiet"(PyObject *value) noexcept
    # Whether a comparison with a str runs no Python code.
    bint is_like_text "lazyentity_is_like_text"(object name) noexcept
    bint is_list "PyList_Check"(PyObject *value) noexcept
    bint is_dict "PyDict_Check"(PyObject *value) noexcept
    bint is_exact "lazyentity_is_exact"(PyObject *value) noexcept


cdef enum:
    SHALLOW = 30  # levels of lists and dicts in a value, which MAX_DEPTH allows in any case


cdef enum Survey:
    ODD  # a name is not exactly a str: only of these no two are the same to protobuf
    NOISY  # encoding a value may run Python code, and so other threads, which may change the dict
    QUIET  # it runs none, unless for an error
    DEEP  # a value may be too deep


cdef inline bint are_names(object excluded) except -1:
    # Whether these tell without Python code if a str is among them. Before version 3.12, CPython may
    # collect garbage where an iterator is made, and a finalizer may change them: no loop makes one there.
    kind = type(excluded)
    if kind is set:
        for name in <set>excluded:
            if not is_like_text(name):
                return 0
        return 1
    if kind is frozenset:
        for name in <frozenset>excluded:
            if not is_like_text(name):
                return 0
        return 1
    if kind is list or kind is tuple:
        for name in excluded:
            if not is_like_text(name):
                return 0
        return 1
    return 0


cdef inline Survey survey(object properties, bint for_depth) noexcept:
    # Tells what encoding the values of a dict may do. No Python code runs in here. Without for_depth,
    # DEEP is not among the answers.
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    cdef Survey found = QUIET
    cdef Survey inside
    while PyDict_Next(properties, &position, &name, &value):
        if type(<object>name) is not str:
            return ODD
        if not is_quiet(value) and (for_depth or found == QUIET):
            inside = survey_value(value, SHALLOW, for_depth)
            if inside == DEEP and for_depth:
                return DEEP
            if inside != QUIET:
                found = NOISY
    return found


cdef inline Survey survey_value(PyObject* value, int levels, bint for_depth) noexcept:
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* held
    cdef Survey found = NOISY
    cdef Survey inside
    if is_list(value):
        if is_exact(value):
            found = QUIET
        if levels == 0:
            return DEEP
        for position in range(PyList_GET_SIZE(<object>value)):
            held = <PyObject*>PyList_GET_ITEM(<object>value, position)
            if not is_quiet(held):
                inside = survey_value(held, levels - 1, for_depth)
                if inside == DEEP or not (inside == QUIET or for_depth):
                    return inside
                if inside != QUIET:
                    found = NOISY
    elif is_dict(value):
        if is_exact(value):
            found = QUIET
        if levels == 0:
            return DEEP
        while PyDict_Next(<object>value, &position, &name, &held):
            if type(<object>name) is not str:
                found = NOISY
            if not is_quiet(held):
                inside = survey_value(held, levels - 1, for_depth)
                if inside == DEEP or not (inside == QUIET or for_depth):
                    return inside
                if inside != QUIET:
                    found = NOISY
    elif is_naive_or_in_utc(<object>value):
        return QUIET
    return found


cdef inline bint next_property(
    object properties,
    Py_ssize_t used,
    Py_ssize_t* left,
    Py_ssize_t* position,
    PyObject** name,
    PyObject** value,
) except -1:
    # As the iterator of dict.items(), which tells its caller if the dict changed.
    if PyDict_GET_SIZE(properties) != used:
        raise RuntimeError("dictionary changed size during iteration")
    if not PyDict_Next(properties, position, name, value):
        return 0
    if left[0] == 0:
        raise RuntimeError("dictionary keys changed during iteration")
    left[0] -= 1
    return 1
