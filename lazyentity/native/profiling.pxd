# The counts of a profile: see profiling.pyx.

from libc.stdint cimport uint32_t, uint64_t


cdef object DATA  # None, while no profile runs


cdef class EntityCounter:
    cdef readonly object call_site
    cdef Shape shape  # None for entities whose properties are counted by name
    cdef bytes kind  # as received; None, if there is no key
    cdef Py_ssize_t count
    # By ordinal: how often each property was decoded by itself, and together with all others.
    cdef uint64_t* reads
    cdef uint64_t* wholes
    cdef uint64_t entities
    cdef uint64_t size
    cdef uint64_t alive
    cdef uint64_t alive_size
    cdef double born
    cdef double byte_seconds
    cdef double longest
    # The last operation that decoded several properties at once.
    cdef void* whole_code
    cdef int whole_instruction
    cdef object whole_operation
    cdef object whole_line

    cdef int add(self, names, bint is_whole) except -1
    cdef int leave(self, double born, Py_ssize_t size) except -1


cdef class EntityCounts(EntityExtras):
    # Takes the place of an entity's extras, instead of another attribute: while no profile runs, an
    # entity is as small as before.
    cdef EntityCounter counter
    cdef object line  # of the last operation that decoded all properties; None without one
    cdef bint is_validated
    cdef double born
    cdef Py_ssize_t size
    cdef uint32_t left  # of the properties that somebody may read
    cdef uint32_t total
    cdef uint32_t run
    cdef void* run_code
    cdef int run_instruction

    cdef int read(self, object name, Py_ssize_t ordinal) except -1


cdef object count_lazy_entity(WireDict entity, object given, bint is_of_query)
cdef object count_eager_entity(bytes raw, object given, bint is_of_query)
cdef int note_whole(WireDict entity, object operation, list values) except -1
cdef int note_plain(WireDict entity, object operation, list names) except -1
cdef int note_columns(WireDict entity, object name) except -1
cdef int note_absent(WireDict entity) except -1


cdef inline bint is_profiled(WireDict entity) noexcept:
    return entity._extras is not None and type(entity._extras) is EntityCounts


cdef inline int note_read(WireDict entity, object name, Py_ssize_t ordinal) except -1:
    # Counts the decoding of a property, if the entity arrived while a profile ran.
    return (<EntityCounts>entity._extras).read(name, ordinal) if is_profiled(entity) else 0
