"""The native backend's check of assigned lists and dicts for the sentinel.

Its twin is in :mod:`lazyentity.codec.undecoded`.
"""

from cpython.dict cimport PyDict_Check, PyDict_Next
from cpython.list cimport PyList_Check, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject

from lazyentity.codec.undecoded import (
    UNDECODED as _UNDECODED,
    assigned,
    keeps_undecoded,
)

cdef inline bint is_container(PyObject* value) noexcept:
    return PyList_Check(<object>value) or PyDict_Check(<object>value)


UNDECODED = _UNDECODED

cdef bint holds_undecoded(object container) except -1:
    # As lazyentity.codec.undecoded.holds_undecoded() of a list or a dict, with trusts_lazy.
    cdef Py_ssize_t index
    cdef PyObject* name
    cdef PyObject* item
    cdef bint keeps
    cdef list pending = None
    cdef set seen = None
    while True:
        index = 0
        # Values were checked when they were assigned to such a dict.
        keeps = (
            PyDict_Check(container)
            and type(container) is not dict
            and keeps_undecoded(container)
        )
        while not keeps:
            if PyDict_Check(container):
                if not PyDict_Next(container, &index, &name, &item):
                    break
            else:
                if index >= PyList_GET_SIZE(container):
                    break
                item = <PyObject*>PyList_GET_ITEM(container, index)
                index += 1
            if item == <PyObject*>UNDECODED:
                return 1
            if is_container(item):
                # Held, for allocation may run the garbage collector, and so other threads.
                nested = <object>item
                if pending is None:
                    pending = []
                    seen = {<Py_ssize_t><PyObject*>container}
                address = <Py_ssize_t><PyObject*>nested
                if address not in seen:
                    seen.add(address)
                    pending.append(nested)
        if not pending:
            return 0
        container = pending.pop()


cdef int require_decoded(object name, object value) except -1:
    # As lazyentity.codec.undecoded.require_decoded().
    if value is UNDECODED or (is_container(<PyObject*>value) and holds_undecoded(value)):
        raise assigned(name)
    return 0


cdef int require_all_decoded(dict values) except -1:
    cdef Py_ssize_t position = 0
    cdef PyObject* name_at
    cdef PyObject* value_at
    while PyDict_Next(values, &position, &name_at, &value_at):
        name = <object>name_at
        value = <object>value_at
        require_decoded(name, value)
    return 0


cdef bint holds_containers(dict values) noexcept:
    cdef Py_ssize_t position = 0
    cdef PyObject* value
    while PyDict_Next(values, &position, NULL, &value):
        if is_container(value):
            return 1
    return 0
