# How many properties are undecoded in this process: see alive.pyx.

from cpython.object cimport PyObject


cdef bint is_any() noexcept
# Whether a value is a scalar, or containers of Python's, at most as many inside each other, of scalars.
cdef bint holds_scalars(PyObject* value, int depth) noexcept
# Of arguments: as are_settled(), or as are_bare() if is_deep.
cdef bint holds_nothing(PyObject* const* values, Py_ssize_t count, bint is_deep) noexcept
cdef bint all_hold_nothing(tuple args, kwargs, bint is_deep) noexcept
