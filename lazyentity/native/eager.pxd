# The decoder of whole entities: see eager.pyx.

from cpython.object cimport PyObject

from lazyentity.native.index cimport Offsets
from lazyentity.native.shapes cimport Shape


cdef object rest_of_entity(bytes owner, Shape shape, Offsets* offsets, PyObject* storage)
cdef object plain_property(bytes owner, Shape shape, Offsets* offsets, Py_ssize_t ordinal)
