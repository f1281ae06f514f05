"""The native backend's search for values that JSON has no type for."""

from cpython.dict cimport PyDict_Next
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.math cimport isfinite

from lazyentity.codec import values as bounds

cdef extern from *:
    """
    static int lazyentity_is_json_scalar(PyObject *value) {
        PyTypeObject *type = Py_TYPE(value);
        return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type
            || value == Py_None;
    }

    static int lazyentity_is_key(PyObject *key, Py_UCS4 reserved) {
        return Py_TYPE(key) == &PyUnicode_Type
            && !(PyUnicode_GET_LENGTH(key) == 1 && PyUnicode_READ_CHAR(key, 0) == reserved);
    }

    #define lazyentity_is_exact_float(value) (Py_TYPE(value) == &PyFloat_Type)
    #define lazyentity_is_exact_dict(value) (Py_TYPE(value) == &PyDict_Type)
    #define lazyentity_is_exact_list(value) (Py_TYPE(value) == &PyList_Type)
    """
    bint is_scalar "lazyentity_is_json_scalar"(PyObject *value) noexcept
    bint is_key "lazyentity_is_key"(PyObject *key, Py_UCS4 reserved) noexcept
    bint is_exact_float "lazyentity_is_exact_float"(PyObject *value) noexcept
    bint is_exact_dict "lazyentity_is_exact_dict"(PyObject *value) noexcept
    bint is_exact_list "lazyentity_is_exact_list"(PyObject *value) noexcept
    double float_of "PyFloat_AS_DOUBLE"(PyObject *value) noexcept

# A single character: any other string is an error here.
cdef Py_UCS4 RESERVED = bounds.RESERVED
cdef int MAX_CONTAINERS = bounds.MAX_CONTAINERS


cdef bint _is_json(PyObject *value, int depth) noexcept:
    # No Python code runs in here, so nothing changes the containers meanwhile.
    cdef PyObject *key
    cdef PyObject *item
    cdef Py_ssize_t position = 0
    if is_scalar(value):
        return 1
    if is_exact_float(value):
        return isfinite(float_of(value))
    if depth == MAX_CONTAINERS:
        return 0
    if is_exact_dict(value):
        while PyDict_Next(<object>value, &position, &key, &item):
            if not is_key(key, RESERVED) or not _is_json(item, depth + 1):
                return 0
        return 1
    if is_exact_list(value):
        for position in range(PyList_GET_SIZE(<object>value)):
            if not _is_json(PyList_GET_ITEM(<object>value, position), depth + 1):
                return 0
        return 1
    return 0


def is_json(value):
    return _is_json(<PyObject *>value, 0)
