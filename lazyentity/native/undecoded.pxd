# The sentinel, and the check of assigned values for it: see undecoded.pyx.

from cpython.dict cimport PyDict_Check
from cpython.list cimport PyList_Check
from cpython.object cimport PyObject


cdef inline bint is_container(PyObject* value) noexcept:
    return PyList_Check(<object>value) or PyDict_Check(<object>value)


cdef object UNDECODED

cdef bint holds_undecoded(object container) except -1
cdef int require_decoded(object name, object value) except -1
cdef int require_all_decoded(dict values) except -1
cdef bint holds_containers(dict values) noexcept
