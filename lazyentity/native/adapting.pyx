# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""The count of lazy mappings, the comparison of a guard, and the native adapters of functions.

The module imports no client, which the other extensions do: see
:func:`lazyentity._environment.native_without_client`.
"""

from cpython.dict cimport PyDict_Check, PyDict_Next
from cpython.list cimport PyList_Check, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE

import functools

from lazyentity.codec.undecoded import UNDECODED as _UNDECODED
from lazyentity.profiling.observer import STORAGE
from lazyentity.search import decode_in_any, fields_of

cdef extern from *:
    """
    static inline int lazyentity_is_scalar(PyObject *value) {
        PyTypeObject *type = Py_TYPE(value);
        return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type
            || type == &PyBool_Type || type == &PyBytes_Type || value == Py_None;
    }

    static inline int lazyentity_is_container(PyObject *value) {
        return PyType_FastSubclass(
            Py_TYPE(value), Py_TPFLAGS_DICT_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS);
    }

    /* The first position, from the given one on, of an item of another type. No Python code runs. */
    static inline PyObject *lazyentity_type_of(PyObject *value) {
        return (PyObject *)Py_TYPE(value);
    }
    static inline Py_ssize_t lazyentity_after_type(PyObject *list, Py_ssize_t position, PyObject *kind) {
        PyObject **items = ((PyListObject *)list)->ob_item;
        Py_ssize_t size = PyList_GET_SIZE(list);
        while (position < size && Py_TYPE(items[position]) == (PyTypeObject *)kind) position++;
        return position;
    }

    static inline int lazyentity_has_attributes(PyObject *value) {
        return Py_TYPE(value)->tp_dictoffset != 0;
    }

    /* The version of a class, as CPython keeps it; 0, if it has none. No two classes share one. */
    static inline unsigned int lazyentity_type_version(PyObject *kind) {
    #if PY_VERSION_HEX < 0x030D0000
        /* Later versions set the tag itself to 0. */
        if (!PyType_HasFeature((PyTypeObject *)kind, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
    #endif
        return ((PyTypeObject *)kind)->tp_version_tag;
    }

    /* Where in an instance a slot is; -1 for one that holds no object. */
    static Py_ssize_t lazyentity_offset(PyObject *slot) {
        PyMemberDef *member;
        if (Py_TYPE(slot) != &PyMemberDescr_Type) return -1;
        member = ((PyMemberDescrObject *)slot)->d_member;
        return member->type == T_OBJECT || member->type == T_OBJECT_EX ? member->offset : -1;
    }

    static inline PyObject *lazyentity_at(PyObject *value, Py_ssize_t offset) {
        return *(PyObject **)((char *)value + offset);
    }

    /* Has a class of this module called by vectorcall. */
    static void lazyentity_use_vectorcall(PyTypeObject *type, Py_ssize_t offset, unsigned long flags) {
        type->tp_vectorcall_offset = offset;
        type->tp_call = PyVectorcall_Call;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | flags;
        PyType_Modified(type);
    }
    """
    bint is_scalar "lazyentity_is_scalar"(PyObject *value) noexcept
    bint is_container "lazyentity_is_container"(PyObject *value) noexcept
    Py_ssize_t after_type "lazyentity_after_type"(PyObject *list, Py_ssize_t position, PyObject *kind) noexcept
    bint has_attributes "lazyentity_has_attributes"(PyObject *value) noexcept
    unsigned int version_of "lazyentity_type_version"(PyObject *kind) noexcept
    Py_ssize_t offset_of "lazyentity_offset"(object slot) noexcept
    PyObject *at "lazyentity_at"(PyObject *value, Py_ssize_t offset) noexcept
    void use_vectorcall "lazyentity_use_vectorcall"(type kind, Py_ssize_t offset, unsigned long flags)

cdef extern from "Python.h":
    """
    #include <stddef.h>
    #include <structmember.h>
    """
    ctypedef object (*vectorcallfunc)(object, PyObject *const *, size_t, PyObject *)
    unsigned long Py_TPFLAGS_METHOD_DESCRIPTOR
    PyObject *Py_TYPE "lazyentity_type_of"(PyObject *value)
    Py_ssize_t PyVectorcall_NARGS(size_t count)
    object PyObject_Vectorcall(object function, PyObject *const *args, size_t count, PyObject *names)
    object PyObject_GenericGetDict(object value, void *unused)
    object PyMethod_New(object function, object instance)


cdef PyObject *UNDECODED = <PyObject *>_UNDECODED

live = 0


def live_mappings():
    """As :func:`lazyentity.storage.lazydict.live_mappings`."""
    return live


cdef class CountedDict(dict):
    """As :class:`lazyentity.storage.lazydict.CountedDict`."""

    def __cinit__(self):
        global live
        live += 1

    def __dealloc__(self):
        global live
        live -= 1


def are_as_known(tuple values not None, tuple absent not None):
    """As :func:`lazyentity.patches.guard._are_as_known`."""
    cdef tuple each
    for each in absent:
        if each[1] in each[0]:
            return False
    try:
        for each in values:
            if each[0][each[1]] is not each[2]:
                return False
    except KeyError:
        return False
    return True


# What is known of the classes that were met: a direct-mapped cache. A class that changes gets another
# version, and no later class gets the version of one that is gone.

cdef enum:
    OPAQUE = -1  # instances are not looked into
    KNOWN = 1024


cdef struct Known:
    PyObject *kind
    unsigned int version
    Py_ssize_t count  # of the slots of a record; OPAQUE
    Py_ssize_t *offsets


cdef Known known[KNOWN]


cdef inline Known *_place_of(PyObject *kind) noexcept:
    return &known[(<size_t>kind >> 4 ^ <size_t>kind >> 14) % KNOWN]


cdef inline Known *_known(PyObject *kind) noexcept:
    # NULL, if nothing is known of the class as it is now.
    cdef Known *found = _place_of(kind)
    if found.kind == kind and found.version == version_of(kind) and found.version != 0:
        return found
    return NULL


def _offset(slot):
    return offset_of(slot)


cdef object _learn(object kind):
    # Finds out what there is to know; returns what fields_of() does.
    cdef Known *found = _place_of(<PyObject *>kind)
    cdef unsigned int version = version_of(<PyObject *>kind)
    cdef Py_ssize_t index
    cdef Py_ssize_t *offsets = NULL
    fields = fields_of(kind)
    if callable(fields):
        return fields
    # Asking for the fields gave the class a version, if it had none.
    if version == 0:
        version = version_of(<PyObject *>kind)
    if version == 0 or version != version_of(<PyObject *>kind):
        return fields
    # A slot may hold something else than an object.
    places = [] if fields is None else [offset for offset in map(_offset, fields) if offset >= 0]
    if places:
        offsets = <Py_ssize_t *>PyMem_Malloc(len(places) * sizeof(Py_ssize_t))
        if offsets == NULL:
            raise MemoryError
        for index in range(len(places)):
            offsets[index] = places[index]
    PyMem_Free(found.offsets)
    found.kind = <PyObject *>kind
    found.version = version
    found.count = OPAQUE if fields is None else len(places)
    found.offsets = offsets
    return fields


cdef enum:
    DEPTH = 24  # of containers inside each other
    LOOKS = 1_000_000  # at values that are no scalars


cdef struct Walk:
    PyObject *is_active  # asked before anything is decoded; NULL, if that is known
    Py_ssize_t left  # looks
    bint is_whole  # whether the values were all looked at
    bint has_found


cdef inline bint _holds_nothing(PyObject *value) noexcept:
    cdef Known *found
    if is_scalar(value):
        return 1
    if is_container(value):
        return 0
    found = _known(Py_TYPE(value))
    return found != NULL and found.count == OPAQUE


# Decoding runs Python code, which may change the containers and records: each is held while it is looked
# into, and its size is asked for again and again.

cdef int _decode(object value, int depth, Walk *walk) except -1:
    cdef PyObject *held
    cdef Py_ssize_t position = 0
    if depth == 0 or walk.left == 0:
        walk.is_whole = False
        return 0
    walk.left -= 1
    if PyDict_Check(value):
        _decode_dict(value, depth, walk)
    elif PyList_Check(value):
        while position < PyList_GET_SIZE(value):
            held = <PyObject *>PyList_GET_ITEM(value, position)
            position += 1
            if _holds_nothing(held):
                # The items of a list are mostly of one type.
                position = after_type(<PyObject *>value, position, Py_TYPE(held))
                continue
            item = <object>held
            _decode(item, depth - 1, walk)
    elif PyTuple_Check(value):
        for position in range(PyTuple_GET_SIZE(value)):
            held = <PyObject *>PyTuple_GET_ITEM(value, position)
            if not _holds_nothing(held):
                _decode(<object>held, depth - 1, walk)
    else:
        _decode_record(value, depth, walk)
    return 0


cdef inline bint _may_decode(Walk *walk) except -1:
    if walk.is_active == NULL:
        return True
    if (<object>walk.is_active)():
        walk.is_active = NULL
        return True
    # Nothing more is looked at.
    walk.left = 0
    return False


cdef int _decode_dict(object value, int depth, Walk *walk) except -1:
    cdef PyObject *held
    cdef Py_ssize_t position = 0
    cdef bint was_decoded = False
    while PyDict_Next(value, &position, NULL, &held):
        # First: once the sentinel was met by itself, its class is known to hold nothing.
        if held == UNDECODED:
            if not was_decoded and hasattr(type(value), "_decode_all"):
                was_decoded = True
                if not _may_decode(walk):
                    return 0
                value._decode_all(STORAGE)
                # Values before this one may be containers that were decoded now.
                position = 0
        elif not _holds_nothing(held):
            item = <object>held
            _decode(item, depth - 1, walk)
    if type(value) is not dict and hasattr(type(value), "_decode_all"):
        walk.has_found = True
    return 0


cdef int _decode_record(object value, int depth, Walk *walk) except -1:
    cdef PyObject *held
    cdef Py_ssize_t index = 0
    cdef Known *found = _known(Py_TYPE(<PyObject *>value))
    if found == NULL:
        fields = _learn(type(value))
        if fields is None:
            return 0
        if callable(fields):
            return _decode(list(fields(value)), depth, walk)
        found = _known(Py_TYPE(<PyObject *>value))
        if found == NULL:
            # A class without a version.
            walk.is_whole = False
            return 0
    if has_attributes(<PyObject *>value):
        attributes = PyObject_GenericGetDict(value, NULL)
        _decode_dict(attributes, depth, walk)
        # Python code may have run, and something else may be known in this place.
        found = _known(Py_TYPE(<PyObject *>value))
    while found != NULL and index < found.count:
        held = at(<PyObject *>value, found.offsets[index])
        index += 1
        if held != NULL and not _holds_nothing(held):
            item = <object>held
            _decode(item, depth - 1, walk)
            found = _known(Py_TYPE(<PyObject *>value))
    if found == NULL:
        walk.is_whole = False
    return 0


cdef bint _decode_argument(PyObject *value, PyObject *is_active) except -1:
    cdef Walk walk
    if _holds_nothing(value):
        return False
    walk.is_active = is_active
    walk.left = LOOKS
    walk.is_whole = True
    walk.has_found = False
    _decode(<object>value, DEPTH, &walk)
    if walk.is_whole:
        return walk.has_found
    # The reference, which takes longer, has no limits.
    return _may_decode(&walk) and decode_in_any(<object>value)


def decode_in_place(value):
    """As :func:`lazyentity.search.decode_in_any`."""
    return _decode_argument(<PyObject *>value, NULL)


cdef class AdaptedFunction:
    """As :data:`lazyentity.patches.adapters.adapted.adapted`, for a callable that is not bound to instances."""

    cdef vectorcallfunc _call
    cdef object _original
    cdef object _is_active
    cdef object _prepare
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self, original, is_active, prepare=None):
        self._call = _call_adapted
        self._original = original
        self._is_active = is_active
        self._prepare = prepare
        functools.update_wrapper(self, original)

    def __getattr__(self, name):
        # __self__, __signature__, __text_signature__, __defaults__ and whatever else the original has.
        return getattr(self._original, name)

    def __repr__(self):
        return repr(self._original)

    # A dict finds what was kept by the original.

    def __hash__(self):
        return hash(self._original)

    def __eq__(self, other):
        if isinstance(other, AdaptedFunction):
            other = (<AdaptedFunction>other)._original
        return self._original == other

    def __reduce_ex__(self, protocol):
        # Pickled by name, as functions and classes are.
        return self.__qualname__


cdef class AdaptedMethod(AdaptedFunction):
    """As :class:`AdaptedFunction`, in the place of a function that is bound to instances."""

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)


cdef object _call_adapted(
    object function, PyObject *const *args, size_t count, PyObject *names
):
    cdef AdaptedFunction self = <AdaptedFunction>function
    if live != 0:
        _look(self, args, PyVectorcall_NARGS(count), names)
    return PyObject_Vectorcall(self._original, args, count, names)


cdef int _look(
    AdaptedFunction self, PyObject *const *args, Py_ssize_t count, PyObject *names
) except -1:
    cdef Py_ssize_t index
    cdef Py_ssize_t number = count + (0 if names == NULL else PyTuple_GET_SIZE(<object>names))
    for index in range(number):
        _decode_argument(args[index], <PyObject *>self._is_active)
    if self._prepare is not None and self._is_active():
        self._prepare(*[<object>args[index] for index in range(count)])
    return 0


def adapted(original, is_active, prepare=None):
    """As :data:`lazyentity.patches.adapters.adapted.adapted`."""
    kind = AdaptedMethod if hasattr(type(original), "__get__") else AdaptedFunction
    return kind(original, is_active, prepare)


cdef AdaptedFunction _any = AdaptedFunction(len, bool)
cdef Py_ssize_t _offset_of_call = <char *>&_any._call - <char *><PyObject *>_any

use_vectorcall(AdaptedFunction, _offset_of_call, 0)
use_vectorcall(AdaptedMethod, _offset_of_call, Py_TPFLAGS_METHOD_DESCRIPTOR)
