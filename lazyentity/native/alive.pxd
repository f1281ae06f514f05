# How many properties are undecoded in this process: see alive.pyx.

from cpython.object cimport PyObject


cdef bint is_any() noexcept
# Whether a value is a scalar, or containers of Python's, at most as many inside each other, of scalars.
cdef bint is_bare(PyObject* value, int depth) noexcept
cdef bint holds_nothing(PyObject* const* values, Py_ssize_t count) noexcept
