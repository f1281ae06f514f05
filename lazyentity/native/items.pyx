"""Decoding the items of an iterator as C code takes them; the iterator stays the same object.

:mod:`lazyentity._items` documents it. C code takes an item by tp_iternext of the iterator's type. That
function is replaced when the first iterator is marked, and calls the original; so is tp_dealloc of types
whose instances have no weak references. The interpreter runs most loops of Python code over generators
without the former.
"""

from cpython.object cimport PyObject

import itertools
import types
import weakref

cdef extern from *:
    """
    /* Iterators whose items come from code: the functions of their types that are replaced. */
    #define LAZYENTITY_KINDS 4
    static iternextfunc lazyentity_originals[LAZYENTITY_KINDS];
    static destructor lazyentity_destructors[LAZYENTITY_KINDS];
    static PyInterpreterState *lazyentity_interpreter;
    static Py_ssize_t lazyentity_marked;

    /* The marked iterators: an address is in one of eight places, by its hash. */
    #define LAZYENTITY_MARKS 1024
    static PyObject *lazyentity_marks[LAZYENTITY_MARKS];

    #define LAZYENTITY_EACH_MARK(i, iterator) \
        for (size_t h_ = (size_t)(iterator) / 16 * 0x9e3779b1u >> 6, k_ = 0, i = 0; \
             i = (h_ + k_) % LAZYENTITY_MARKS, k_ < 8; k_++)

    static int lazyentity_is_marked(PyObject *iterator)
    {
        LAZYENTITY_EACH_MARK(i, iterator) if (lazyentity_marks[i] == iterator) return 1;
        return 0;
    }

    /* Mark an iterator that is not marked; returns whether there is room. */
    static int lazyentity_mark(PyObject *iterator)
    {
        LAZYENTITY_EACH_MARK(i, iterator) if (lazyentity_marks[i] == NULL) {
            lazyentity_marks[i] = iterator;
            lazyentity_marked++;
            return 1;
        }
        return 0;
    }

    static void lazyentity_unmark(PyObject *iterator)
    {
        LAZYENTITY_EACH_MARK(i, iterator) if (lazyentity_marks[i] == iterator) {
            lazyentity_marks[i] = NULL;
            lazyentity_marked--;
        }
    }

    /* Decodes an item; returns -1 with an error. */
    static int (*lazyentity_decode)(PyObject *);

    static PyObject *lazyentity_passed(PyObject *iterator, PyObject *item)
    {
        /* Interpreters share types. */
        if (!lazyentity_is_marked(iterator) || PyInterpreterState_Get() != lazyentity_interpreter) return item;
        if (item == NULL) lazyentity_unmark(iterator);
        else if (lazyentity_decode(item) < 0) Py_CLEAR(item);
        return item;
    }

    /* An iterator that goes before its end leaves no mark: another one can get its address. */
    #define LAZYENTITY_KIND(i) static PyObject *lazyentity_next_##i(PyObject *iterator) { \
        PyObject *item = lazyentity_originals[i](iterator); \
        return lazyentity_marked == 0 ? item : lazyentity_passed(iterator, item); } \
        static void lazyentity_end_##i(PyObject *iterator) { \
        if (lazyentity_marked != 0) lazyentity_unmark(iterator); \
        lazyentity_destructors[i](iterator); }
    LAZYENTITY_KIND(0) LAZYENTITY_KIND(1) LAZYENTITY_KIND(2) LAZYENTITY_KIND(3)
    static iternextfunc lazyentity_nexts[LAZYENTITY_KINDS] = {
        lazyentity_next_0, lazyentity_next_1, lazyentity_next_2, lazyentity_next_3 };
    static destructor lazyentity_ends[LAZYENTITY_KINDS] = {
        lazyentity_end_0, lazyentity_end_1, lazyentity_end_2, lazyentity_end_3 };

    static void lazyentity_watch(int number, PyObject *type, int is_referred)
    {
        PyTypeObject *kind = (PyTypeObject *)type;
        lazyentity_interpreter = PyInterpreterState_Get();
        lazyentity_originals[number] = kind->tp_iternext;
        kind->tp_iternext = lazyentity_nexts[number];
        /* A weak reference tells of the end, and there are many generators. */
        if (is_referred) return;
        lazyentity_destructors[number] = kind->tp_dealloc;
        kind->tp_dealloc = lazyentity_ends[number];
    }
    """
    ctypedef int (*Decode)(PyObject *item) except -1
    Decode decode_item "lazyentity_decode"
    bint mark "lazyentity_mark"(PyObject *iterator)
    bint is_marked "lazyentity_is_marked"(PyObject *iterator)
    void unmark "lazyentity_unmark"(PyObject *iterator)
    void watch "lazyentity_watch"(int number, object kind, bint is_referred)


# Iterators whose items are decoded as C code takes them, by tp_iternext of the type.
_WATCHED = (types.GeneratorType, map, itertools.starmap, itertools.accumulate)
cdef bint _are_watched = False
cdef object _decode
cdef dict _references = {}  # to marked generators, by address


def decode_items(iterator, decode):
    """As :func:`lazyentity._inplace.decode_items`."""
    global _are_watched, _decode
    cdef PyObject *address = <PyObject *>iterator
    cdef bint is_referred = type(iterator) is types.GeneratorType
    number = <size_t>address
    if (number in _references) if is_referred else is_marked(address):
        return True
    if not _are_watched:
        _are_watched = True
        for index, kind in enumerate(_WATCHED):
            watch(index, kind, kind is types.GeneratorType)
    _decode = decode
    if not mark(address):
        return False
    if is_referred:
        _references[number] = weakref.ref(iterator, lambda _: _forget(number))
    return True


cdef int _forget(number) except -1:
    del _references[number]
    unmark(<PyObject *><size_t>number)


cdef int _decode_item(PyObject *item) except -1:
    _decode(<object>item)
    return 0


decode_item = _decode_item
