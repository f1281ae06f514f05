"""The native backend's half of a read response: its results, split off without parsing the entities.

:mod:`lazyentity._backend.protocols` documents the interface. A result is a span of the response's bytes. Its
entity's bytes are copied when the entity is read, so that a kept entity does not keep the others.
Protobuf first encodes anew an entity that is not in the encoding that servers send.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t

from lazyentity.native.buffer cimport NUMBER, Buffer, put_tag, put_varint
from lazyentity.native.cpython cimport new, untrack
from lazyentity.native.tags cimport (
    BATCH_ENTITY_RESULTS,
    ENTITY_KEY,
    ENTITY_PROPERTIES,
    LOOKUP_FOUND,
    LOOKUP_MISSING,
    QUERY_BATCH,
    RESULT_CREATE_TIME,
    RESULT_CURSOR,
    RESULT_ENTITY,
    RESULT_UPDATE_TIME,
    TIMESTAMP_NANOS,
    TIMESTAMP_SECONDS,
)
from lazyentity.native.wellformed cimport are_numbers
from lazyentity.native.wire cimport Bytes, find_last_field, read_length, read_tag, skip_field

from google.protobuf.message import DecodeError

from lazyentity.codec import fallback, shadow

cdef struct ResultSpan:
    # Offsets in the response, of a result and of the entity in it.
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t entity_start
    Py_ssize_t entity_end


cdef inline bint skip_other(Bytes* cursor, Bytes end, uint64_t handled, uint64_t also_handled) noexcept nogil:
    # Skips a field other than those that are handled under these tags.
    cdef uint64_t tag
    if not read_tag(cursor, end, &tag) or tag >> 3 == handled >> 3 or tag >> 3 == also_handled >> 3:
        return 0
    return skip_field(cursor, end, tag)


cdef inline bint find_entity(Bytes base, Bytes at, Bytes end, ResultSpan* span) noexcept nogil:
    # Fills in the span of a result; answers 0, unless the result has at most one entity, and times that
    # protobuf takes.
    cdef Bytes entity_end
    cdef Bytes stop
    cdef uint64_t tag
    span.start = at - base
    span.end = end - base
    span.entity_start = -1
    while at < end:
        if at[0] == RESULT_ENTITY:
            at += 1
            if span.entity_start >= 0 or not read_length(&at, end, &entity_end):
                return 0
            span.entity_start = at - base
            span.entity_end = entity_end - base
            at = entity_end
        elif at[0] == RESULT_CREATE_TIME or at[0] == RESULT_UPDATE_TIME:
            at += 1
            if not read_length(&at, end, &stop) or not are_numbers(
                at, stop, TIMESTAMP_SECONDS, TIMESTAMP_NANOS, 0
            ):
                return 0
            at = stop
        elif (
            not read_tag(&at, end, &tag)
            # Tags of the above, in more bytes than they take.
            or tag >> 3 == RESULT_ENTITY >> 3
            or tag == RESULT_CREATE_TIME
            or tag == RESULT_UPDATE_TIME
            or not skip_field(&at, end, tag)
        ):
            return 0
    if span.entity_start < 0:
        # No entity is an empty entity.
        span.entity_start = span.entity_end = span.start
    return 1


cdef inline bint find_only_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil:
    # Finds the key of an entity in the encoding that servers send; answers 0 in any other, and if
    # there is none.
    cdef Bytes span_end
    cdef uint8_t tag
    key[0] = NULL
    while at < end:
        tag = at[0]
        at += 1
        if not read_length(&at, end, &span_end):
            return 0
        if tag == ENTITY_KEY and key[0] == NULL:
            key[0] = at
            key_end[0] = span_end
        elif tag != ENTITY_PROPERTIES:
            return 0
        at = span_end
    return key[0] != NULL


cdef inline bytes only_key(bytes response, Py_ssize_t start, Py_ssize_t end):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(response)
    cdef Bytes key
    cdef Bytes key_end
    if not find_only_key(base + start, base + end, &key, &key_end):
        return None
    return PyBytes_FromStringAndSize(<const char*>key, key_end - key)


cdef class EntityReader:
    """As :class:`lazyentity._backend.protocols.EntityReader`."""

    cdef type lazy_type
    cdef object stock_entity
    cdef readonly bint is_stock
    cdef readonly object prepare

    def __init__(self, type lazy_type not None, stock_entity, *, bint is_stock=False, prepare=None):
        self.lazy_type = lazy_type
        self.stock_entity = stock_entity
        self.is_stock = is_stock
        self.prepare = prepare


cdef class ReadRpc:
    """As :class:`lazyentity._backend.protocols.ReadRpc`."""

    cdef public EntityReader reader
    cdef public bint is_of_query


@cython.no_gc  # No instance is part of a cycle: what it refers to never refers back.
cdef class EntityBytes:
    """As :class:`lazyentity._backend.protocols.EntityBytes`."""

    cdef readonly ReadRpc rpc
    cdef readonly EntityBytes _origin
    cdef bytes _response
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end

    def __cinit__(self):
        self._response = b""

    @property
    def raw(self):
        # Copied when asked for: the one copy is still in the processor's cache when it is scanned.
        return _span(self._response, self._start, self._end)

    @property
    def serialised_key(self):
        return only_key(self._response, self._start, self._end)

    def _receive(self, bytes raw not None, ReadRpc rpc not None):
        self._response = raw
        self._start = 0
        self._end = PyBytes_GET_SIZE(raw)
        self.rpc = rpc

    def read(self, EntityReader reader not None, /):
        return _read(self.rpc, reader, _span(self._response, self._start, self._end))

    def to_unboxed(self, EntityReader reader not None, /):
        cdef EntityReader chosen = _chosen(self.rpc, reader)
        unboxed = None
        # A profile counts entities; stock ones are decoded as a whole.
        if DATA is None and not chosen.is_stock and chosen.prepare is None:
            unboxed = unboxed_of(chosen.lazy_type, self._response, self._start, self._end)
        return self.read(reader) if unboxed is None else unboxed


cdef inline bytes _span(bytes owner, Py_ssize_t start, Py_ssize_t end):
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(owner) + start, end - start)


cdef inline EntityBytes _handle(type kind, ReadRpc rpc, bytes response, Py_ssize_t start, Py_ssize_t end):
    cdef EntityBytes handle = new(EntityBytes, kind, ())
    untrack(handle)
    handle.rpc = rpc
    handle._response = response
    handle._start = start
    handle._end = end
    return handle


cdef inline EntityReader _chosen(ReadRpc rpc, EntityReader reader):
    if rpc is None:
        raise TypeError("these bytes came with no response")
    return reader if rpc.reader is None else rpc.reader


cdef object _read(ReadRpc rpc, EntityReader reader, bytes raw):
    cdef EntityReader chosen = _chosen(rpc, reader)
    entity = chosen.stock_entity(raw) if chosen.is_stock else mapping_from_raw(chosen.lazy_type, raw)
    if DATA is not None:
        # Before it is prepared: what that decodes is counted.
        if chosen.is_stock:
            DATA.receive_eager(raw)
        else:
            DATA.receive(entity, raw, rpc.is_of_query)
    return entity if chosen.prepare is None else chosen.prepare(entity)


cdef class ViewAs:
    """As :class:`lazyentity._backend.protocols.ViewAs`."""

    cdef type _kind

    def __init__(self, type kind not None):
        self._kind = kind

    def __get__(self, instance, owner):
        cdef EntityBytes origin = instance
        cdef EntityBytes other
        if origin is None:
            return self
        other = _handle(self._kind, origin.rpc, origin._response, origin._start, origin._end)
        other._origin = origin
        return other


@cython.no_gc  # As for EntityBytes.
cdef class ResultBytes:
    """As :class:`lazyentity._backend.protocols.ResultBytes`."""

    cdef readonly ReadRpc rpc
    cdef type _entity_type
    cdef bytes _response
    cdef ResultSpan _at

    entity_type = EntityBytes

    def __cinit__(self):
        self._response = b""

    @property
    def entity(self):
        return _handle(self._entity_type, self.rpc, self._response, self._at.entity_start, self._at.entity_end)

    def read(self, EntityReader reader not None, /):
        return _read(self.rpc, reader, _span(self._response, self._at.entity_start, self._at.entity_end))

    def entity_key(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes start
        cdef Bytes end
        if find_only_key(base + self._at.entity_start, base + self._at.entity_end, &start, &end):
            key = decode_key(start, end)
            if key is not UNDECODED:
                return key
        return fallback.key(self._response[self._at.entity_start : self._at.entity_end])

    @property
    def cursor(self):
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes at
        cdef Bytes end
        if not find_last_field(base + self._at.start, base + self._at.end, RESULT_CURSOR, &at, &end):
            return b""
        return PyBytes_FromStringAndSize(<const char*>at, end - at)

    def serialised(self):
        return self._response[self._at.start : self._at.end]


def convert_found(EntityReader reader not None, dict entities not None, tuple results not None, dict pending not None):
    cdef ResultBytes result
    cdef list left = []
    for each in results:
        result = <ResultBytes?>each
        key = only_key(result._response, result._at.entity_start, result._at.entity_end)
        if key not in pending:
            left.append(result)
            continue
        raw = _span(result._response, result._at.entity_start, result._at.entity_end)
        try:
            entities[key] = _read(result.rpc, reader, raw)
        except (DecodeError, ValueError, OverflowError):
            # The caller reads it again, and reports the error.
            left.append(result)
        else:
            del pending[key]
    return left


@cython.no_gc  # As for EntityBytes.
cdef class ResponseEntities:
    """As :class:`lazyentity._backend.protocols.ResponseEntities`."""

    cdef bytes _response
    cdef ReadRpc _rpc
    cdef type _result_type
    cdef type _entity_type
    cdef bytearray _spans  # a ResultSpan of each result; None, once the results are made
    cdef Py_ssize_t _count
    cdef tuple _results

    def __cinit__(self, bytes response not None, ReadRpc rpc, type result_type):
        self._response = response
        self._rpc = rpc
        self._result_type = result_type
        self._entity_type = result_type.entity_type
        self._spans = bytearray()

    def __len__(self):
        return self._count

    def __iter__(self):
        return EntityIterator(self)

    def __reduce__(self):
        # A copy is what the client has here.
        return list, (list(self),)

    def results(self):
        cdef tuple results
        if self._results is None:
            results = tuple([self._result(index) for index in range(self._count)])
            # Another thread may have made them meanwhile. Nothing is allocated from here on.
            if self._results is None:
                self._results = results
                self._spans = None
        return self._results

    cdef ResultSpan _span_at(self, Py_ssize_t index) noexcept:
        if self._results is not None:
            return (<ResultBytes>self._results[index])._at
        return (<ResultSpan*>PyByteArray_AS_STRING(self._spans))[index]

    cdef ResultBytes _result(self, Py_ssize_t index):
        cdef ResultBytes result = new(ResultBytes, self._result_type, ())
        untrack(result)
        result.rpc = self._rpc
        result._entity_type = self._entity_type
        result._response = self._response
        result._at = self._span_at(index)
        return result

    cdef EntityBytes _entity(self, Py_ssize_t index):
        cdef ResultSpan at = self._span_at(index)
        return _handle(self._entity_type, self._rpc, self._response, at.entity_start, at.entity_end)

    cdef int _add(self, Bytes at, Bytes end) except -1:
        # Adds a result; answers 0, unless it has at most one entity.
        cdef ResultSpan span
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(self._spans)
        if not find_entity(<Bytes>PyBytes_AS_STRING(self._response), at, end, &span):
            return 0
        if size == <Py_ssize_t>sizeof(ResultSpan) * self._count:
            PyByteArray_Resize(self._spans, 2 * size + 4 * sizeof(ResultSpan))
        (<ResultSpan*>PyByteArray_AS_STRING(self._spans))[self._count] = span
        self._count += 1
        return 1


@cython.no_gc  # As for EntityBytes.
cdef class EntityIterator:
    """As :class:`lazyentity._backend.protocols.EntityIterator`."""

    cdef ResponseEntities _entities
    cdef Py_ssize_t _index

    def __cinit__(self, ResponseEntities entities not None):
        self._entities = entities

    def __iter__(self):
        return self

    def __next__(self):
        cdef ResponseEntities entities = self._entities  # a collection can use up the iterator meanwhile
        return entities._entity(self._take())

    def __length_hint__(self):
        return self._entities._count - self._index

    def __reduce__(self):
        cdef ResponseEntities entities = self._entities
        return iter, ([entities._entity(index) for index in range(self._index, entities._count)],)

    def read_next(self, EntityReader reader not None, /):
        cdef ResponseEntities entities = self._entities
        cdef ResultSpan at = entities._span_at(self._take())
        return _read(entities._rpc, reader, _span(entities._response, at.entity_start, at.entity_end))

    cdef Py_ssize_t _take(self) except -1:
        # Nothing is allocated in between: no two threads get one entity.
        if self._index >= self._entities._count:
            # As iterators of lists do: a page that was read does not keep the response.
            self._index, self._entities = 0, ResponseEntities(b"", None, ResultBytes)
            raise StopIteration
        self._index += 1
        return self._index - 1


cdef int _take(
    Bytes at, Bytes end, int first_tag, ResponseEntities first, int second_tag, ResponseEntities second, list rest
) except -1:
    # Sorts the fields of a message into results in one field, results in another, and the rest.
    cdef Bytes start, span_end
    cdef ResponseEntities entities
    while at < end:
        start = at
        if at[0] != first_tag and at[0] != second_tag:
            if not skip_other(&at, end, first_tag, second_tag):
                return 0
            rest.append(PyBytes_FromStringAndSize(<const char*>start, at - start))
            continue
        entities = first if at[0] == first_tag else second
        at += 1
        if not read_length(&at, end, &span_end) or not entities._add(at, span_end):
            return 0
        at = span_end
    return 1


cdef tuple _lookup(bytes response, ReadRpc rpc, result_type):
    # None, if the response is not in the canonical encoding.
    cdef Bytes at = <Bytes>PyBytes_AS_STRING(response)
    cdef ResponseEntities found = ResponseEntities(response, rpc, result_type)
    cdef ResponseEntities missing = ResponseEntities(response, rpc, result_type)
    cdef list rest = []
    if not _take(at, at + PyBytes_GET_SIZE(response), LOOKUP_FOUND, found, LOOKUP_MISSING, missing, rest):
        return None
    return b"".join(rest), found, missing


cdef tuple _query(bytes response, ReadRpc rpc, result_type):
    # None, if the response is not in the canonical encoding.
    cdef Bytes at = <Bytes>PyBytes_AS_STRING(response)
    cdef Bytes end = at + PyBytes_GET_SIZE(response)
    cdef Bytes start, batch_end
    cdef ResponseEntities entities = ResponseEntities(response, rpc, result_type)
    cdef list rest = []
    cdef list batch = None
    cdef uint8_t header[NUMBER]
    cdef Buffer buffer
    while at < end:
        start = at
        if at[0] != QUERY_BATCH:
            if not skip_other(&at, end, QUERY_BATCH, QUERY_BATCH):
                return None
            rest.append(PyBytes_FromStringAndSize(<const char*>start, at - start))
            continue
        at += 1
        if batch is not None or not read_length(&at, end, &batch_end):
            return None
        batch = []
        if not _take(at, batch_end, BATCH_ENTITY_RESULTS, entities, BATCH_ENTITY_RESULTS, entities, batch):
            return None
        at = batch_end
    if batch is not None:
        serialised = b"".join(batch)
        buffer.data, buffer.size = header, 0
        put_tag(&buffer, QUERY_BATCH)
        put_varint(&buffer, len(serialised))
        rest += PyBytes_FromStringAndSize(<const char*>header, buffer.size), serialised
    return b"".join(rest), entities


cdef tuple _split(bytes raw, ReadRpc rpc, result_type, message_type):
    for encoded in shadow.encodings(raw, message_type):
        split = (_lookup if message_type is shadow.LookupResults else _query)(encoded, rpc, result_type)
        if split is not None:
            return split
    raise AssertionError("protobuf's own encoding is canonical")


def split_lookup(bytes raw not None, ReadRpc rpc not None, result_type):
    return _split(raw, rpc, result_type, shadow.LookupResults)


def split_query(bytes raw not None, ReadRpc rpc not None, result_type):
    return _split(raw, rpc, result_type, shadow.QueryResults)
