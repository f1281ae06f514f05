"""The native backend's hook of a profile, which :mod:`lazyentity.profiling.counters` counts.

An entity that arrives while a profile runs gets :class:`CountedExtras` in place of its extras. So
decoding a property tests one pointer of the entity, whether a profile runs or not.
"""

from lazyentity.profiling import observer

DATA = None


cdef class CountedExtras(EntityExtras):
    pass


cdef int note_decoded(WireDict entity, list names, object operation) except -1:
    # Counts properties that were decoded; the operation is empty, if each was by itself.
    (<CountedExtras>entity._extras).counts.decode(names, operation)
    return 0


cdef int note_entity(WireDict entity, object counts) except -1:
    # An entity that was read before keeps what was read.
    cdef CountedExtras made = CountedExtras.__new__(CountedExtras)
    cdef EntityExtras read = entity._extras
    if read is not None:
        made.key, made.meanings = read.key, read.meanings
        made.policy, made.deleted_attributes = read.policy, read.deleted_attributes
    made.counts = counts
    set_extras(entity, made)
    return 0


def _follow(data):
    global DATA
    DATA = data


observer.listen(_follow)
