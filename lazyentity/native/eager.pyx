"""The native backend's decoder of whole entities: bytes to stock entities, or to plain dicts.

Theory of operation. The scanner finds the shape and the values, as for a lazy entity. The storage is
cloned from a template and each value is put in place. Bytes that the scanner or a decoder does not know,
at any depth, end the attempt: the client's own code then converts the outermost entity as a whole. So
every entity is decoded at most twice, and the client raises every error.

The stock client has properties in the order of protobuf's hash table, whose seed is the process's. The
order depends on the names and on the order in which they arrive, not on the values. So one question to
protobuf is enough for each shape.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_SetItem, PyDict_Update
from cpython.object cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memset

from lazyentity.native.cpython cimport new
from lazyentity.native.tags cimport VALUE_ARRAY, VALUE_ENTITY
from lazyentity.native.wire cimport (
    MAX_DEPTH,
    OUTERMOST,
    PROPERTY_DEPTH,
    TO_ENTITY,
    TO_ITEM,
    TO_VALUE,
    Bytes,
    read_length,
)

from google.cloud.datastore.entity import Entity as _Entity

from lazyentity.codec import messages, shadow
from lazyentity.codec.undecoded import undecoded_template
from lazyentity.codec.values import meaning_of, stock_entity

cdef type Entity = _Entity
cdef object INIT = Entity.__init__
cdef object NEW = Entity.__new__
cdef object UPDATE = Entity.update

cdef enum Form:
    # The result of decoding an entity.
    STOCK  # an Entity, its properties in the order of the stock client
    COPY  # an Entity, its properties in wire order
    PLAIN  # a dict of its properties in wire order


cdef struct Flags:
    # The parts of a property beside its value.
    bint excluded
    bint meant
    int32_t meaning
    # The bytes of the Value, if it is an array; NULL otherwise.
    Bytes array
    Bytes array_end


cdef list _stock_order(names):
    # Takes names of properties in wire order; returns them in the order of the stock client.
    arriving = shadow.EntityEntries()
    for name in names:
        arriving.properties.add(key=name.encode())
    return list(messages.Entity.FromString(arriving.SerializeToString()).properties)


cdef dict _template(Shape shape, Form form):
    # Has the names in their order; the values are to be replaced.
    cdef dict template = shape.stock_template
    if form != STOCK:
        return shape._ordinals
    if template is None:
        template = undecoded_template(_stock_order(shape._ordinals))
        if shape._template is not None:
            # The shape was learned, for more entities than one.
            shape.keep_stock_template(template)
    return template


# Functions that answer UNDECODED leave the outermost entity to the client. They take the depth of the entity
# or the Value.

cdef object _entity(bytes owner, Py_ssize_t start, Py_ssize_t end, Form form, int depth):
    cdef Offsets offsets
    cdef Shape shape
    memset(&offsets, 0, sizeof(Offsets))
    shape = index_entity(owner, start, end, &offsets)
    if shape is None:
        return UNDECODED
    try:
        if form == PLAIN:
            return _fill_dict(owner, shape, &offsets, depth)
        return _fill_entity(owner, shape, &offsets, form, depth, NULL)
    finally:
        free_offsets(&offsets)


cdef object _fill_dict(bytes owner, Shape shape, Offsets* offsets, int depth):
    cdef Flags flags
    cdef Py_ssize_t ordinal = 0
    cdef dict filled = {}
    # CPython clones the key table as a whole.
    PyDict_Update(filled, shape._ordinals)
    for name in shape._ordinals:
        value = _property(owner, offsets, ordinal, PLAIN, depth + TO_VALUE, &flags)
        if value is UNDECODED:
            return UNDECODED
        PyDict_SetItem(filled, name, value)
        ordinal += 1
    return filled


cdef object _fill_entity(
    bytes owner, Shape shape, Offsets* offsets, Form form, int depth, PyObject* storage
):
    # Leaves out the properties that are already decoded in the storage, if there is one.
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Bytes key_start
    cdef Bytes key_end
    cdef Flags flags
    cdef Py_ssize_t ordinal = -1
    cdef set excluded = None
    cdef dict meanings = None
    cdef object entity = new(dict, Entity, ())
    cdef dict template = _template(shape, form)
    key = None
    if find_key(base + offsets.start, base + offsets.end, &key_start, &key_end):
        key = decode_key(key_start, key_end)
        if key is UNDECODED:
            return UNDECODED
    PyDict_Update(entity, template)
    for name in shape._ordinals:
        ordinal += 1
        if storage != NULL:
            if PyDict_GetItemWithError(<object>storage, name) != <PyObject*>UNDECODED:
                continue
        value = _property(owner, offsets, ordinal, form, depth + TO_VALUE, &flags)
        if value is UNDECODED:
            return UNDECODED
        PyDict_SetItem(entity, name, value)
        if flags.excluded:
            if excluded is None:
                excluded = set()
            excluded.add(name)
        if flags.meant:
            meaning = flags.meaning if flags.array == NULL else _meaning_of_array(&flags)
            # Before 2.20.2, the client drops that of an array itself.
            if meaning is not None:
                if meanings is None:
                    meanings = {}
                meanings[name] = (meaning, value)
    # As the constructor does; a __setattr__ that the class was given is called.
    entity.key = key
    entity.exclude_from_indexes = set() if excluded is None else _ordered_set(excluded, template)
    entity._meanings = {} if meanings is None else {
        name: meanings[name] for name in template if name in meanings
    }
    return entity


cdef set _ordered_set(set names, dict template):
    # Where hashes collide, a set has the order in which it was filled.
    return set([name for name in template if name in names])


cdef object _property(
    bytes owner, Offsets* offsets, Py_ssize_t ordinal, Form form, int depth, Flags* flags
):
    cdef Bytes base = <Bytes>PyBytes_AS_STRING(owner)
    cdef Bytes at
    cdef Bytes end
    cdef Value value
    flags.excluded = flags.meant = 0
    flags.array = NULL
    at = value_at(offsets, base, ordinal)
    if not read_length(&at, base + offsets.end, &end):
        return UNDECODED
    decoded = decode_bare(at, end)
    if decoded is not UNDECODED:
        return decoded
    if not parse_value(at, end, &value):
        return UNDECODED
    flags.excluded = value.excluded
    flags.meaning = value.meaning
    flags.meant = value.meaning != 0
    if value.tag == VALUE_ARRAY:
        flags.array = at
        flags.array_end = end
        return _array(owner, &value, form, depth, flags)
    return _value(owner, &value, form, depth)


cdef object _value(bytes owner, Value* value, Form form, int depth):
    cdef Bytes base
    if value.tag == VALUE_ENTITY:
        base = <Bytes>PyBytes_AS_STRING(owner)
        if depth > MAX_DEPTH:
            return UNDECODED
        return _entity(owner, value.at - base, value.end - base, form, depth + TO_ENTITY)
    if value.tag == VALUE_ARRAY:
        return _array(owner, value, form, depth, NULL)
    return decode_leaf(value)


cdef object _array(bytes owner, Value* array, Form form, int depth, Flags* flags):
    # The client looks at flags and meanings of the elements of a property's array, no deeper.
    cdef Bytes at = array.at
    cdef Value value
    cdef list items = []
    if depth > MAX_DEPTH:
        return UNDECODED
    while at < array.end:
        if not next_item(&at, array.end, &value):
            return UNDECODED
        if flags != NULL:
            # The client refuses elements that disagree.
            if items and value.excluded != flags.excluded:
                return UNDECODED
            flags.excluded = value.excluded
            flags.meant |= value.meaning != 0
        item = _value(owner, &value, form, depth + TO_ITEM)
        if item is UNDECODED:
            return UNDECODED
        items.append(item)
    return items


cdef object _meaning_of_array(Flags* flags):
    # Versions of the client condense the meanings of elements in different ways.
    raw = PyBytes_FromStringAndSize(<const char*>flags.array, flags.array_end - flags.array)
    return meaning_of(messages.Value.FromString(raw))


cdef bint constructs_as_known() except -1:
    # Whether Entity still has the methods that this module bypasses.
    return Entity.__init__ is INIT and Entity.__new__ is NEW and Entity.update is UPDATE


cdef object rest_of_entity(bytes owner, Shape shape, Offsets* offsets, PyObject* storage):
    # Makes a stock entity, in wire order, of the properties that are undecoded in a storage.
    if not constructs_as_known():
        return UNDECODED
    return _fill_entity(owner, shape, offsets, COPY, OUTERMOST, storage)


cdef object plain_property(bytes owner, Offsets* offsets, Py_ssize_t ordinal):
    # Decodes a property; entities in it become dicts.
    cdef Flags flags
    return _property(owner, offsets, ordinal, PLAIN, PROPERTY_DEPTH, &flags)


def stock_from_raw(bytes raw not None):
    if constructs_as_known():
        entity = _entity(raw, 0, PyBytes_GET_SIZE(raw), STOCK, OUTERMOST)
        if entity is not UNDECODED:
            return entity
    return stock_entity(messages.Entity.FromString(raw))
