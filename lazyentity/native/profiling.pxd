# The hook of a profile: see profiling.pyx.


cdef object DATA  # None, while no profile runs


cdef class CountedExtras(EntityExtras):
    # Takes the place of an entity's extras, instead of another attribute: while no profile runs, an
    # entity is as small as before.
    cdef object counts


cdef inline bint is_profiled(WireDict entity) noexcept:
    return entity._extras is not None and type(entity._extras) is CountedExtras


cdef int note_entity(WireDict entity, object counts) except -1
cdef int note_decoded(WireDict entity, list names, object operation) except -1


cdef inline int note_read(WireDict entity, object name) except -1:
    # Counts the decoding of a property, if the entity arrived while a profile ran.
    return note_decoded(entity, [name], "") if is_profiled(entity) else 0
