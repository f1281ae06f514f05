"""Decoding the items of an iterator as C code takes them; the iterator stays the same object.

:mod:`lazyentity._items` documents it. C code takes an item by tp_iternext of the iterator's type. That
function is replaced when the first iterator is marked, and calls the original. The interpreter runs
most loops of Python code over generators without it.
"""

from cpython.object cimport PyObject

import itertools
import types
import weakref

cdef extern from *:
    """
    /* Iterators whose items come from code: tp_iternext of their types, and what takes its place. */
    #define LAZYENTITY_KINDS 4
    static iternextfunc lazyentity_originals[LAZYENTITY_KINDS];
    static PyInterpreterState *lazyentity_interpreter;
    static Py_ssize_t lazyentity_marked;

    /* The marked iterators: an address is in one of eight places, by its hash. */
    #define LAZYENTITY_MARKS 1024
    static struct { PyObject *iterator; int is_certain; } lazyentity_marks[LAZYENTITY_MARKS];

    #define LAZYENTITY_EACH_MARK(i, iterator) \
        for (size_t h_ = (size_t)(iterator) / 16 * 0x9e3779b1u >> 6, k_ = 0, i = 0; \
             i = (h_ + k_) % LAZYENTITY_MARKS, k_ < 8; k_++)

    /* Mark an iterator; is_certain says that unmark() will be called. Returns whether there is room. */
    static int lazyentity_mark(PyObject *iterator, int is_certain)
    {
        Py_ssize_t free = -1;
        LAZYENTITY_EACH_MARK(i, iterator) {
            if (lazyentity_marks[i].iterator == iterator) { free = (Py_ssize_t)i; lazyentity_marked--; break; }
            if (lazyentity_marks[i].iterator == NULL) free = (Py_ssize_t)i;
        }
        if (free < 0) LAZYENTITY_EACH_MARK(i, iterator) {
            /* Perhaps the iterator has gone. */
            if (!lazyentity_marks[i].is_certain) { free = (Py_ssize_t)i; lazyentity_marked--; break; }
        }
        if (free < 0) return 0;
        lazyentity_marks[free].iterator = iterator;
        lazyentity_marks[free].is_certain = is_certain;
        lazyentity_marked++;
        return 1;
    }

    static int lazyentity_is_marked(PyObject *iterator)
    {
        LAZYENTITY_EACH_MARK(i, iterator) if (lazyentity_marks[i].iterator == iterator) return 1;
        return 0;
    }

    static void lazyentity_unmark(PyObject *iterator)
    {
        LAZYENTITY_EACH_MARK(i, iterator) if (lazyentity_marks[i].iterator == iterator) {
            lazyentity_marks[i].iterator = NULL;
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

    #define LAZYENTITY_NEXT(i) static PyObject *lazyentity_next_##i(PyObject *iterator) { \
        PyObject *item = lazyentity_originals[i](iterator); \
        return lazyentity_marked == 0 ? item : lazyentity_passed(iterator, item); }
    LAZYENTITY_NEXT(0) LAZYENTITY_NEXT(1) LAZYENTITY_NEXT(2) LAZYENTITY_NEXT(3)
    static iternextfunc lazyentity_nexts[LAZYENTITY_KINDS] = {
        lazyentity_next_0, lazyentity_next_1, lazyentity_next_2, lazyentity_next_3 };

    static void lazyentity_watch(int number, PyObject *type)
    {
        PyTypeObject *kind = (PyTypeObject *)type;
        lazyentity_interpreter = PyInterpreterState_Get();
        lazyentity_originals[number] = kind->tp_iternext;
        kind->tp_iternext = lazyentity_nexts[number];
    }
    """
    ctypedef int (*Decode)(PyObject *item) except -1
    Decode decode_item "lazyentity_decode"
    bint mark "lazyentity_mark"(PyObject *iterator, bint is_certain)
    bint is_marked "lazyentity_is_marked"(PyObject *iterator)
    void unmark "lazyentity_unmark"(PyObject *iterator)
    void watch "lazyentity_watch"(int number, object kind)


# Iterators whose items are decoded as C code takes them, by tp_iternext of the type.
_WATCHED = (types.GeneratorType, map, itertools.starmap, itertools.accumulate)
cdef bint _are_watched = False
cdef object _decode
cdef dict _references = {}  # to marked generators, by address


def decode_items(iterator, decode):
    """As :func:`lazyentity._inplace.decode_items`."""
    global _are_watched, _decode
    cdef PyObject *address = <PyObject *>iterator
    cdef bint is_certain = type(iterator) is types.GeneratorType
    number = <size_t>address
    if (number in _references) if is_certain else is_marked(address):
        return True
    if not _are_watched:
        _are_watched = True
        for index, kind in enumerate(_WATCHED):
            watch(index, kind)
    _decode = decode
    if not mark(address, is_certain):
        return False
    if is_certain:
        # The others cannot be referred to. If such an iterator goes before its end, another one with
        # its address is decoded too, which is harmless.
        _references[number] = weakref.ref(iterator, lambda _: _forget(number))
    return True


cdef int _forget(number) except -1:
    del _references[number]
    unmark(<PyObject *><size_t>number)


cdef int _decode_item(PyObject *item) except -1:
    _decode(<object>item)
    return 0


decode_item = _decode_item
