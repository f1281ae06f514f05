"""The native backend's fields of a document: each is decoded once, when it is first read.

Theory of operation. At first there are the bytes of the response. The first :meth:`get` makes an index of
the fields; documents with the same names share a :class:`~lazyentity.native.shapes.Shape` with each other,
and with entities. A field that was decoded stays, and every caller gets a copy. Decoding all fields takes
those that are there. Bytes that say no more than the decoded fields are dropped then.

The global interpreter lock guards the attributes. Other threads run while a function of the client does:
then the bytes may be dropped, so each pass holds them, and the fields of the first thread count.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memset

from lazyentity.native.entities cimport Offsets, Shape, free_offsets, index_map, value_at


cdef class DocumentFields:
    """The fields of a received document.

    Attributes:
        count: called with the names of fields that were decoded, and with whether these are all of
            them that were not; None, if no profile counts them.
    """

    cdef DocumentCodec _codec
    cdef object _client
    cdef bytes _raw  # the response; None, if all that is known are the decoded fields
    cdef Py_ssize_t _start  # of the document
    cdef Py_ssize_t _end
    cdef Shape _shape  # None without an index
    cdef Offsets _offsets
    cdef dict _values  # those that were decoded, if there is an index
    cdef object _data  # all of them, once they are decoded; UNDECODED before
    cdef bint _is_exact  # the decoded fields have all that their bytes have
    cdef public object count

    def __cinit__(self):
        self._data = UNDECODED
        self._is_exact = 1

    def __dealloc__(self):
        free_offsets(&self._offsets)

    @property
    def document(self):
        """The serialised ``Document``; None, if the decoded fields are all that there is."""
        if self._raw is None:
            return None
        return self._raw[self._start : self._end]

    @property
    def complete(self):
        """As :meth:`data`, if all fields are decoded; ``UNDECODED`` otherwise."""
        return self._data

    def data(self):
        """Return all fields as the client keeps them: the same dict each time.

        It is no dict, if the client makes another type of the document.

        Raises:
            Exception: the client's, if a field or the document cannot be converted.
        """
        if self._data is UNDECODED:
            self._decode_all()
        return self._data

    def to_dict(self):
        """Return a copy of :meth:`data`.

        Raises:
            Exception: as of :meth:`data`.
        """
        return _copy_of(self._codec, self.data(), 0)

    def get(self, names):
        """Return a copy of the value of a field in fields.

        Args:
            names: the names of the fields, all of them text; of all fields, if there is none.

        Returns:
            The value; ``UNDECODED``, if there is none.

        Raises:
            Exception: the client's, if the field cannot be converted.
        """
        cdef bint is_first = 1
        value = UNDECODED
        for name in names:
            if is_first:
                value = self.field(name)
                is_first = 0
            elif type(value) is dict:
                value = (<dict>value).get(name, UNDECODED)
            else:
                return UNDECODED
        if is_first:
            return self.to_dict()
        return value if value is UNDECODED else _copy_of(self._codec, value, 0)

    def field(self, str name not None):
        """Return the value of a field, the same object each time.

        Raises:
            Exception: the client's, if the field cannot be converted.
        """
        cdef Reading reading
        cdef bytes raw = self._raw
        cdef Bytes at
        cdef Bytes end
        cdef dict values
        if self._data is UNDECODED and self._shape is None and not self._make_index():
            self._decode_all()
        if self._data is not UNDECODED:
            return self._data.get(name, UNDECODED) if type(self._data) is dict else UNDECODED
        values = self._values
        value = values.get(name, UNDECODED)
        if value is not UNDECODED:
            return value
        ordinal = self._shape._ordinals.get(name)
        if ordinal is None:
            return UNDECODED
        at = value_at(&self._offsets, <Bytes>PyBytes_AS_STRING(raw), ordinal)
        if not read_length(&at, <Bytes>PyBytes_AS_STRING(raw) + self._end, &end):
            raise AssertionError("the index has read this length")
        self._begin(&reading)
        value = _field(&reading, at, end)
        self._is_exact &= reading.is_exact
        if self.count is not None:
            self.count([name], False)
        return values.setdefault(name, value)

    def names(self):
        """Return the names of all fields, in the order of the document.

        Raises:
            Exception: the client's, if it has to decode the document and cannot.
        """
        cdef Shape shape = self._shape
        if self._data is UNDECODED and shape is None and self._make_index():
            # None, if other code decoded the document meanwhile.
            shape = self._shape
        if shape is not None:
            return tuple(shape._ordinals)
        data = self.data()
        return tuple(data) if type(data) is dict else ()

    def decoded(self):
        """Return the names of the fields that were decoded, in the order of the document."""
        # Other code may decode the document meanwhile.
        cdef Shape shape = self._shape
        cdef dict values = self._values
        if self._data is not UNDECODED:
            return self.names()
        if shape is None:
            return ()
        return tuple([name for name in shape._ordinals if name in values])

    def __deepcopy__(self, memo):
        cdef DocumentFields made = DocumentFields.__new__(DocumentFields)
        made._data = self.to_dict()
        made._codec, made._client = self._codec, self._client
        return made

    cdef bytes _received(self):
        # Python code can make an object without bytes.
        if self._raw is None:
            raise TypeError("DocumentFields are made by DocumentBytes.fields()")
        return self._raw

    cdef int _begin(self, Reading* reading) except -1:
        reading.codec = <PyObject*>self._codec
        reading.client = <PyObject*>self._client
        reading.is_exact = 1
        return 0

    cdef bint _make_index(self) except -1:
        # Answers 0, if the document has to be decoded as a whole.
        cdef Offsets offsets
        cdef Shape shape
        memset(&offsets, 0, sizeof(Offsets))
        shape = index_map(self._received(), self._start, self._end, DOCUMENT_FIELDS, &offsets)
        if shape is None:
            return 0
        if "__type__" in shape._ordinals or _is_single_special(shape):
            free_offsets(&offsets)
            return 0
        if self._shape is None and self._data is UNDECODED:
            self._values, self._shape, self._offsets = {}, shape, offsets
        else:
            free_offsets(&offsets)
        return 1

    cdef int _decode_all(self) except -1:
        cdef Reading reading
        cdef bytes raw = self._received()
        self._begin(&reading)
        try:
            data = _document(&reading, raw, self._start, self._end, self._values)
        except self._codec._errors:
            # The client's order of fields decides which error comes; the last of a name counts.
            data = UNDECODED
        if data is UNDECODED:
            reading.is_exact = 0
            data = self._codec._document(raw[self._start : self._end], self._client)
        if self._data is UNDECODED:
            if self.count is not None and type(data) is dict:
                self.count([name for name in data if name not in (self._values or ())], True)
            self._data = data
            self._values = self._shape = None
            free_offsets(&self._offsets)
            if self._is_exact and reading.is_exact:
                self._raw = None
        return 0


cdef bint _is_single_special(Shape shape):
    # Whether the client may make another type than a dict of a document of this shape.
    return len(shape._ordinals) == 1 and str(next(iter(shape._ordinals))).startswith("__")


cdef object _field(Reading* reading, Bytes at, Bytes end):
    value = _value(reading, at, end, FIELD_DEPTH)
    if value is UNDECODED:
        reading.is_exact = 0
        raw = PyBytes_FromStringAndSize(<const char*>at, end - at)
        value = (<DocumentCodec>reading.codec)._field(raw, <object>reading.client)
    return value


cdef object _document(Reading* reading, bytes raw, Py_ssize_t start, Py_ssize_t stop, dict known):
    # Decodes the fields of a document but those that are known; UNDECODED, if the client has to.
    cdef Bytes at = <Bytes>PyBytes_AS_STRING(raw) + start
    cdef Bytes end = <Bytes>PyBytes_AS_STRING(raw) + stop
    cdef MapEntry entry
    cdef bint is_special = 0
    cdef dict fields = {}
    while at < end:
        if not _next_entry(&at, end, DOCUMENT_FIELDS, &entry):
            if at[0] == DOCUMENT_FIELDS:
                return UNDECODED
            # The times are kept elsewhere.
            reading.is_exact &= at[0] in (DOCUMENT_NAME, DOCUMENT_CREATE_TIME, DOCUMENT_UPDATE_TIME)
            if not skip_any_field(&at, end):
                return UNDECODED
            continue
        is_special |= _is_special(entry.name, entry.name_end)
        name = _name(entry.name, entry.name_end)
        if name is UNDECODED:
            return UNDECODED
        value = UNDECODED
        if known:
            value = known.get(name, UNDECODED)
        if value is UNDECODED:
            value = _field(reading, entry.value, entry.end)
        PyDict_SetItem(fields, name, value)
    if is_special and (len(fields) == 1 or _is_vector(fields)):
        return UNDECODED
    return fields
