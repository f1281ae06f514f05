"""The native backend's counts of a profile; :mod:`lazyentity.profiling.counters` keeps all others.

An entity that arrives while a profile runs gets an :class:`EntityCounts` in place of its extras, so decoding
a property tests one pointer of the entity, whether a profile runs or not. Properties are counted by
ordinal, in an array for each shape. No Python code runs between reading a count and storing it.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.string cimport memcmp

from lazyentity.native.frames cimport decref, incref, item_at, xdecref
from lazyentity.native.frames cimport caller_of, clock, code_of, file_of, instruction_of, running_frame
from lazyentity.native.wire cimport Bytes

from lazyentity.profiling import observer


# The first profile imports these modules.
cdef object counters = None
cdef object role_of = None
cdef dict ROLES = {}
cdef object EVERY_PROPERTY = None

cdef enum:
    OWN = 0
    LIBRARY = 1
    APPLICATION = 2
    LOOP = 3
    NEAR = 16

DATA = None
cdef double EPOCH = clock()


cdef double now() noexcept:
    # Small numbers: they are multiplied by bytes and added up.
    return clock() - EPOCH


cdef struct Place:
    # The code and the instruction of a read. The code is not kept alive: only its address is
    # compared.
    void* code
    int instruction
    bint is_application


cdef int find_place(Place* place) except -1:
    # As lazyentity.profiling.callsites.near(), without its rules for servers: places are only compared with each
    # other, for entities that came to the same site.
    cdef PyObject* frame = running_frame()
    cdef PyObject* code
    cdef PyObject* known
    cdef PyObject* caller
    cdef int level
    cdef int role
    place.code = NULL
    place.instruction = 0
    place.is_application = 0
    if frame == NULL:
        return 0
    incref(frame)
    try:
        for level in range(NEAR):
            code = code_of(frame)
            # The frame holds the code, too.
            decref(code)
            known = item_at(<PyObject*>ROLES, file_of(code))
            role = <object>known if known != NULL else role_of(<object>frame)
            if role == LOOP and place.code != NULL:
                return 0
            if role == APPLICATION or (role == LIBRARY and place.code == NULL):
                place.code = code
                place.instruction = instruction_of(frame)
                if role == APPLICATION:
                    place.is_application = 1
                    return 0
            caller = caller_of(frame)
            decref(frame)
            frame = caller
            if frame == NULL:
                return 0
    finally:
        xdecref(frame)
    return 0


@cython.no_gc_clear  # An entity is counted out after its cycle was collected.
cdef class EntityCounter:
    """Counts entities of the same kind and shape that a site received."""

    def __cinit__(self, call_site, Shape shape, kind):
        self.call_site = call_site
        self.shape = shape
        self.kind = kind
        self.count = 0 if shape is None else shape.count
        # One piece of memory for both arrays.
        self.reads = <uint64_t*>PyMem_Calloc(2 * max(1, self.count), sizeof(uint64_t))
        if self.reads == NULL:
            raise MemoryError
        self.wholes = self.reads + self.count

    def __dealloc__(self):
        PyMem_Free(self.reads)

    cdef int add(self, names, bint is_whole) except -1:
        # Counts properties that were decoded.
        cdef uint64_t* counts = self.wholes if is_whole else self.reads
        for name in names:
            if self.shape is None:
                counters.count_name(self.call_site.wholes if is_whole else self.call_site.reads, name)
            else:
                counts[<Py_ssize_t>self.shape._ordinals[name]] += 1
        return 0

    cdef int leave(self, double born, Py_ssize_t size) except -1:
        cdef double seconds = now() - born
        self.alive -= 1
        self.alive_size -= size
        self.born -= size * born
        self.byte_seconds += size * seconds
        self.longest = max(self.longest, seconds)
        return 0

    def add_to(self, counts):
        """Add the counts of this counter to the counts of the site and the kind."""
        cdef double held = now() * self.alive_size - self.born
        counts.entities += self.entities
        counts.size += self.size
        counts.byte_seconds += self.byte_seconds
        counts.add_alive(self.alive, self.alive_size, held, self.longest)
        if self.shape is None:
            return
        ordinals = self.shape._ordinals
        counts.add_names(
            received=dict.fromkeys(ordinals, self.entities),
            read={name: self.reads[<Py_ssize_t>ordinal] for name, ordinal in ordinals.items()},
            whole={name: self.wholes[<Py_ssize_t>ordinal] for name, ordinal in ordinals.items()},
        )


@cython.no_gc_clear  # An entity is counted out after its cycle was collected.
cdef class EntityCounts(EntityExtras):
    """As :class:`lazyentity.profiling.counters.EntityCounts`."""

    def __dealloc__(self):
        if self.counter is not None:
            # Not, if there was no memory for it.
            self.counter.leave(self.born, self.size)

    # Anybody can make an instance, which has no counter.
    @property
    @cython.nonecheck(True)
    def call_site(self):
        """As :attr:`lazyentity.profiling.counters.EntityCounts.call_site`."""
        return self.counter.call_site

    cdef int read(self, object name, Py_ssize_t ordinal) except -1:
        cdef Place place
        if self.counter.shape is None:
            self.counter.add((name,), 0)
        else:
            self.counter.reads[ordinal] += 1
        if self.left == 0:
            return 0
        self.left -= 1
        find_place(&place)
        if place.code == self.run_code and place.instruction == self.run_instruction:
            self.run += 1
        else:
            self.run = 1
            self.run_code = place.code
            self.run_instruction = place.instruction
        if self.left == 0 and self.run > 1 and 2 * self.run >= self.total:
            count_whole(self.counter, EVERY_PROPERTY, self.run)
        return 0

    def expect(self, uint32_t total):
        """As :meth:`lazyentity.profiling.counters.EntityCounts.expect`."""
        self.left = self.total = total

    def read_whole(self, list names not None, operation):
        """As :meth:`lazyentity.profiling.counters.EntityCounts.read_whole`."""
        self.left = 0
        self.copied(names, operation)

    @cython.nonecheck(True)
    def copied(self, list names not None, operation=""):
        """As :meth:`lazyentity.profiling.counters.EntityCounts.copied`."""
        self.counter.add(names, bool(operation))
        if operation:
            count_whole(self.counter, operation, len(names))
            self.line = self.counter.whole_line

    def validated(self, model, names):
        """As :meth:`lazyentity.profiling.counters.EntityCounts.validated`."""
        if self.line is not None:
            self.line.add_model(model, names, not self.is_validated)
            self.is_validated = True


cdef int count_whole(EntityCounter counter, object operation, Py_ssize_t properties) except -1:
    cdef Place place
    find_place(&place)
    if (
        counter.whole_line is not None
        and place.is_application
        and counter.whole_code == place.code
        and counter.whole_instruction == place.instruction
        and counter.whole_operation is operation
    ):
        counter.whole_line.calls += 1
        counter.whole_line.properties += properties
        return 0
    line = counter.call_site.count_whole(operation, properties)
    counter.whole_code = place.code
    counter.whole_instruction = place.instruction
    counter.whole_operation = operation
    counter.whole_line = line
    return 0


cdef class ResponseCounter:
    """Counts the entities of a response, which come to the same site.

    Attributes:
        data: the data that they are counted in.
    """

    cdef readonly object data
    cdef object site
    cdef bint is_of_query
    cdef EntityCounter last

    cdef EntityCounter counter_of(self, Shape shape, Bytes kind, Py_ssize_t size):
        cdef EntityCounter counter = self.last
        if (
            counter is not None
            and counter.shape is shape
            and (counter.kind is None) == (kind == NULL)
            and (
                kind == NULL
                or (
                    PyBytes_GET_SIZE(counter.kind) == size
                    and memcmp(PyBytes_AS_STRING(counter.kind), kind, size) == 0
                )
            )
        ):
            return counter
        call_site = self.call_site_of(kind, size)
        counter = call_site.by_shape.get(shape)
        if counter is None and (
            shape._template is None or len(call_site.by_shape) >= counters.MAX_SHAPES
        ):
            # The entities are counted by name.
            shape = None
            counter = call_site.by_shape.get(shape)
        if counter is None:
            raw = None if kind == NULL else PyBytes_FromStringAndSize(<const char*>kind, size)
            counter = call_site.by_shape.setdefault(shape, EntityCounter(call_site, shape, raw))
        self.last = counter
        return counter

    cdef object call_site_of(self, Bytes kind, Py_ssize_t size):
        name = None
        if kind != NULL:
            name = PyBytes_FromStringAndSize(<const char*>kind, size).decode("utf-8", "replace")
        call_site = self.data.call_site(self.site, name)
        if not self.is_of_query:
            call_site.are_of_queries = False
        return call_site


cdef ResponseCounter response_counter_of(object given, bint is_of_query):
    # The counter of a response, for its next entity. The given one, if another thread ended the profile.
    cdef ResponseCounter response_counter = given
    data = DATA
    if data is not None and (
        response_counter is None
        or response_counter.data is not data
        or response_counter.is_of_query != is_of_query
    ):
        response_counter = ResponseCounter.__new__(ResponseCounter)
        response_counter.data = data
        response_counter.site = data.site()
        response_counter.is_of_query = is_of_query
    return response_counter


cdef object count_lazy_entity(WireDict entity, object given, bint is_of_query):
    # Counts an entity that was just made. Takes and returns the counter of its response, at first None.
    cdef ResponseCounter response_counter = response_counter_of(given, is_of_query)
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(entity._owner)
    cdef Bytes kind
    cdef Bytes kind_end
    cdef Py_ssize_t kind_size = 0
    cdef EntityCounts entity_counts
    cdef EntityCounter counter
    if response_counter is None or entity._extras is not None:
        # The entity was counted or read before.
        return response_counter
    if find_kind(base + entity._offsets.start, base + entity._offsets.end, &kind, &kind_end):
        kind_size = kind_end - kind
    counter = response_counter.counter_of(entity._shape, kind, kind_size)
    entity_counts = EntityCounts.__new__(EntityCounts)
    entity_counts.size = entity._offsets.end - entity._offsets.start
    if counter.shape is None:
        counter.call_site.count_received(entity._shape._ordinals)
    entity_counts.born = now()
    entity_counts.left = entity_counts.total = <uint32_t>entity._shape.count
    entity_counts.counter = counter
    counter.entities += 1
    counter.size += entity_counts.size
    counter.alive += 1
    counter.alive_size += entity_counts.size
    counter.born += entity_counts.size * entity_counts.born
    set_extras(entity, entity_counts)
    return response_counter


cdef object count_eager_entity(bytes raw, object given, bint is_of_query):
    # As count_lazy_entity(), for an entity that becomes a stock one.
    cdef ResponseCounter response_counter = response_counter_of(given, is_of_query)
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(raw)
    cdef Bytes kind
    cdef Bytes kind_end
    cdef Py_ssize_t kind_size = 0
    if find_kind(base, base + PyBytes_GET_SIZE(raw), &kind, &kind_end):
        kind_size = kind_end - kind
    if response_counter is not None:
        response_counter.call_site_of(kind, kind_size).count_eager(PyBytes_GET_SIZE(raw))
    return response_counter


cdef int note_whole(WireDict entity, object operation, list values) except -1:
    # Counts the decoding of all properties that have a value here, in the order of the shape's names.
    cdef list names = []
    cdef Py_ssize_t index = 0
    for name in entity._shape._ordinals:
        if values[index] is not UNDECODED:
            names.append(name)
        index += 1
    (<EntityCounts>entity._extras).read_whole(names, operation)
    return 0


cdef int note_plain(WireDict entity, object operation, list names) except -1:
    # Counts the decoding of properties for a result; the entity stays as it is.
    (<EntityCounts>entity._extras).copied(names, operation)
    return 0


cdef int note_columns(WireDict entity, object name) except -1:
    # Counts the decoding of a property for a column; the entity stays as it is.
    cdef EntityCounts entity_counts = <EntityCounts>entity._extras
    entity_counts.copied([name])
    entity_counts.call_site.uses.add(observer.COLUMNS)
    return 0


cdef int note_absent(WireDict entity) except -1:
    # Other entities of the kind may have the property.
    (<EntityCounts>entity._extras).call_site.uses.add(observer.NAMES)
    return 0


def count_entity(WireDict entity not None, response_counter, bint is_of_query=False):
    """As :meth:`lazyentity._backend.abc.Backend.count_entity`."""
    return count_lazy_entity(entity, response_counter, is_of_query) if DATA is not None else response_counter


def _follow(data):
    global DATA, EVERY_PROPERTY, ROLES, role_of, counters
    if data is not None:
        from lazyentity.profiling import callsites, counters as known_counters

        counters = known_counters
        EVERY_PROPERTY = counters.EVERY_PROPERTY
        ROLES = callsites.ROLES
        role_of = callsites.role_of
    DATA = data


observer.listen(_follow)
