"""The native backend's half of a read response: its results, split off without parsing the entities.

:mod:`lazyentity._backend.entities` documents the interface. A result is a span of the response's bytes. Its
entity's bytes are copied when the entity is read, so that a kept entity does not keep the others.
Protobuf first encodes anew an entity that is not in the encoding that servers send.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t

from lazyentity.native.buffer cimport NUMBER, Buffer, put_tag, put_varint
from lazyentity.native.cpython cimport new, untrack
from lazyentity.native.tags cimport ENTITY_KEY, ENTITY_PROPERTIES, RESULT_CURSOR, RESULT_ENTITY
from lazyentity.native.tags cimport BATCH_ENTITY_RESULTS, LOOKUP_FOUND, LOOKUP_MISSING, QUERY_BATCH
from lazyentity.native.wire cimport Bytes, find_last_field, read_length, read_tag, skip_field

from lazyentity.codec import fallback, interruptions, shadow


cdef class EntityReader:
    """As :class:`lazyentity._backend.entities.EntityReader`."""

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
    """As :class:`lazyentity._backend.entities.ReadRpc`."""

    cdef public EntityReader reader
    cdef public bint is_of_query
    cdef object counter  # of a profile


@cython.no_gc  # No instance is part of a cycle: what it refers to never refers back.
cdef class EntityBytes:
    """As :class:`lazyentity._backend.entities.EntityBytes`."""

    cdef readonly ReadRpc rpc
    cdef readonly EntityBytes _origin
    cdef bytes _response
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end

    def __cinit__(self):
        self._response = b""

    @property
    def raw(self):
        """As :attr:`lazyentity._backend.entities.EntityBytes.raw`."""
        # Copied when asked for: the one copy is still in the processor's cache when it is scanned.
        return _span(self._response, self._start, self._end)

    @property
    def serialised_key(self):
        """As :attr:`lazyentity._backend.entities.EntityBytes.serialised_key`."""
        return _only_key(self._response, self._start, self._end)

    def _receive(self, bytes raw not None, ReadRpc rpc not None):
        """As :meth:`lazyentity._backend.entities.EntityBytes._receive`."""
        self._response = raw
        self._start = 0
        self._end = PyBytes_GET_SIZE(raw)
        self.rpc = rpc

    def read(self, EntityReader reader not None, /):
        """As :meth:`lazyentity._backend.entities.EntityBytes.read`."""
        return _read(self.rpc, reader, _span(self._response, self._start, self._end))

    def to_unboxed(self, EntityReader reader not None, /):
        """As :meth:`lazyentity._backend.entities.EntityBytes.to_unboxed`."""
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
    entity = chosen.stock_entity(raw) if chosen.is_stock else wire_dict_from_raw(chosen.lazy_type, raw)
    if DATA is not None:
        if chosen.is_stock:
            rpc.counter = count_eager_entity(raw, rpc.counter, rpc.is_of_query)
        else:
            rpc.counter = count_lazy_entity(<WireDict>entity, rpc.counter, rpc.is_of_query)
    return entity if chosen.prepare is None else chosen.prepare(entity)


cdef class ViewAs:
    """As :class:`lazyentity._backend.entities.ViewAs`."""

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
    """As :class:`lazyentity._backend.entities.ResultBytes`."""

    cdef readonly ReadRpc rpc
    cdef type _entity_type
    cdef bytes _response
    cdef Py_ssize_t _start
    cdef Py_ssize_t _end
    cdef Py_ssize_t _entity_start
    cdef Py_ssize_t _entity_end

    entity_type = EntityBytes

    def __cinit__(self):
        self._response = b""

    @property
    def entity(self):
        """As :attr:`lazyentity._backend.entities.ResultBytes.entity`."""
        return _handle(self._entity_type, self.rpc, self._response, self._entity_start, self._entity_end)

    def read(self, EntityReader reader not None, /):
        """As :meth:`lazyentity._backend.entities.ResultBytes.read`."""
        return _read(self.rpc, reader, _span(self._response, self._entity_start, self._entity_end))

    def entity_key(self):
        """As :meth:`lazyentity._backend.entities.ResultBytes.entity_key`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes start
        cdef Bytes end
        if _find_only_key(base + self._entity_start, base + self._entity_end, &start, &end):
            key = decode_key(start, end)
            if key is not UNDECODED:
                return key
        return fallback.key(self._response[self._entity_start : self._entity_end])

    @property
    def cursor(self):
        """As :attr:`lazyentity._backend.entities.ResultBytes.cursor`."""
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes at
        cdef Bytes end
        if not find_last_field(base + self._start, base + self._end, RESULT_CURSOR, &at, &end):
            return b""
        return PyBytes_FromStringAndSize(<const char*>at, end - at)

    def serialised(self):
        """As :meth:`lazyentity._backend.entities.ResultBytes.serialised`."""
        return self._response[self._start : self._end]


cdef bint _find_only_key(Bytes at, Bytes end, Bytes* key, Bytes* key_end) noexcept nogil:
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


cdef bytes _only_key(bytes response, Py_ssize_t start, Py_ssize_t end):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(response)
    cdef Bytes key
    cdef Bytes key_end
    if not _find_only_key(base + start, base + end, &key, &key_end):
        return None
    return PyBytes_FromStringAndSize(<const char*>key, key_end - key)


def convert_found(EntityReader reader not None, dict entities not None, tuple results not None, dict pending not None):
    """As :meth:`lazyentity._backend.abc.Backend.convert_found`."""
    cdef ResultBytes result
    cdef list left = []
    for each in results:
        result = <ResultBytes?>each
        key = _only_key(result._response, result._entity_start, result._entity_end)
        if key not in pending:
            left.append(result)
            continue
        raw = _span(result._response, result._entity_start, result._entity_end)
        try:
            entities[key] = _read(result.rpc, reader, raw)
        except Exception as error:
            interruptions.raise_if_of_handler(error)
            left.append(result)
        else:
            del pending[key]
    return left


cdef class _Splitter:
    # Splits one response, and leaves the parts in attributes.

    cdef bytes _response
    cdef ReadRpc _rpc
    cdef type _result_type
    cdef type _entity_type

    def __init__(self, bytes response, ReadRpc rpc, result_type):
        self._response = response
        self._rpc = rpc
        self._result_type = result_type
        self._entity_type = result_type.entity_type

    cdef ResultBytes _result(self, Bytes at, Bytes end):
        # None, unless the span has at most one entity.
        cdef Bytes base = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes start = at
        cdef Bytes entity_end
        cdef uint64_t tag
        cdef ResultBytes result = new(ResultBytes, self._result_type, ())
        untrack(result)
        result._entity_start = -1
        while at < end:
            if at[0] == RESULT_ENTITY:
                at += 1
                if result._entity_start >= 0 or not read_length(&at, end, &entity_end):
                    return None
                result._entity_start = at - base
                result._entity_end = entity_end - base
                at = entity_end
            elif not _skip_other(&at, end, RESULT_ENTITY, RESULT_ENTITY):
                return None
        if result._entity_start < 0:
            # No entity is an empty entity.
            result._entity_start = result._entity_end = start - base
        result.rpc = self._rpc
        result._entity_type = self._entity_type
        result._response = self._response
        result._start = start - base
        result._end = end - base
        return result

    cdef int _take(
        self, Bytes at, Bytes end, int first_tag, list first, int second_tag, list second, list rest
    ) except -1:
        # Sorts the fields of a message into results in one field, results in another, and the rest.
        cdef Bytes start
        cdef Bytes span_end
        cdef ResultBytes result
        cdef list results
        while at < end:
            start = at
            if at[0] != first_tag and at[0] != second_tag:
                if not _skip_other(&at, end, first_tag, second_tag):
                    return 0
                rest.append(PyBytes_FromStringAndSize(<const char*>start, at - start))
                continue
            results = first if at[0] == first_tag else second
            at += 1
            if not read_length(&at, end, &span_end):
                return 0
            result = self._result(at, span_end)
            if result is None:
                return 0
            results.append(result)
            at = span_end
        return 1

    cdef tuple lookup(self):
        # None, if the response is not in the canonical encoding.
        cdef Bytes at = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes end = at + PyBytes_GET_SIZE(self._response)
        cdef list found = []
        cdef list missing = []
        cdef list rest = []
        if not self._take(at, end, LOOKUP_FOUND, found, LOOKUP_MISSING, missing, rest):
            return None
        return b"".join(rest), tuple(found), tuple(missing)

    cdef tuple query(self):
        # None, if the response is not in the canonical encoding.
        cdef Bytes at = <Bytes>PyBytes_AS_STRING(self._response)
        cdef Bytes end = at + PyBytes_GET_SIZE(self._response)
        cdef Bytes start
        cdef Bytes batch_end
        cdef list results = []
        cdef list rest = []
        cdef list batch = None
        cdef uint8_t header[NUMBER]
        cdef Buffer buffer
        while at < end:
            start = at
            if at[0] != QUERY_BATCH:
                if not _skip_other(&at, end, QUERY_BATCH, QUERY_BATCH):
                    return None
                rest.append(PyBytes_FromStringAndSize(<const char*>start, at - start))
                continue
            at += 1
            if batch is not None or not read_length(&at, end, &batch_end):
                return None
            batch = []
            if not self._take(
                at, batch_end, BATCH_ENTITY_RESULTS, results, BATCH_ENTITY_RESULTS, results, batch
            ):
                return None
            at = batch_end
        if batch is not None:
            serialised = b"".join(batch)
            buffer.data, buffer.size = header, 0
            put_tag(&buffer, QUERY_BATCH)
            put_varint(&buffer, len(serialised))
            rest += PyBytes_FromStringAndSize(<const char*>header, buffer.size), serialised
        return b"".join(rest), tuple(results)


cdef bint _skip_other(Bytes* cursor, Bytes end, uint64_t handled, uint64_t also_handled) noexcept nogil:
    # Skips a field other than those that are handled under these tags.
    cdef uint64_t tag
    if not read_tag(cursor, end, &tag) or tag >> 3 == handled >> 3 or tag >> 3 == also_handled >> 3:
        return 0
    return skip_field(cursor, end, tag)


# The type of the message, and the results in one.
cdef tuple LOOKUP = (shadow.LookupResponse, lambda message: (message.found, message.missing))
cdef tuple QUERY = (shadow.RunQueryResponse, lambda message: (message.batch.entity_results,))


def _encodings(raw, message_type, results_of):
    yield raw
    message = message_type.FromString(raw)
    for results in results_of(message):
        for result in results:
            if len(result.entity) > 1:
                # Concatenating encodings is how protobuf defines to merge them.
                result.entity[:] = [b"".join(result.entity)]
    yield message.SerializeToString()
    message.DiscardUnknownFields()
    yield message.SerializeToString()


cdef tuple _split(bytes raw, ReadRpc rpc, result_type, tuple kind):
    cdef _Splitter splitter
    for encoded in _encodings(raw, *kind):
        splitter = _Splitter(encoded, rpc, result_type)
        split = splitter.lookup() if kind is LOOKUP else splitter.query()
        if split is not None:
            return split
    raise AssertionError("protobuf's own encoding is canonical")


def split_lookup(bytes raw not None, ReadRpc rpc not None, result_type):
    """As :meth:`lazyentity._backend.abc.Backend.split_lookup`."""
    return _split(raw, rpc, result_type, LOOKUP)


def split_query(bytes raw not None, ReadRpc rpc not None, result_type):
    """As :meth:`lazyentity._backend.abc.Backend.split_query`."""
    return _split(raw, rpc, result_type, QUERY)
