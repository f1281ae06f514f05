# The part of an entity that is written back: see untouched.pyx.

from lazyentity.native.index cimport Offsets
from lazyentity.native.shapes cimport Shape


cdef bytes untouched_bytes(
    bytes owner, Shape shape, Offsets* offsets, dict changed, object deleted, bint keeps_key
)
