"""Replacing what a function, a method or a class of C code does, while its object stays the same.

:mod:`lazyentity._inplace` documents it. A function object of CPython's refers to a PyMethodDef,
and reads the C function from there at each call, as the interpreter's specialised instructions do.
It gets another PyMethodDef, with the same name, flags and documentation. The calls and the
construction of a type are pointers in the type. Functions of Cython, nanobind and Python have a pointer each.

places.pxd, conditions.pxd and shortcuts.pxd have the C code.
"""

cimport cython
from cpython.exc cimport PyErr_Fetch, PyErr_NormalizeException, PyErr_Restore
from cpython.object cimport PyObject
from cpython.type cimport PyType_IsSubtype

from lazyentity.native.conditions cimport (
    FLAGS,
    PLACES,
    asks_any,
    forget_answers,
    refused,
    set_names,
    set_options,
    set_value,
    set_when,
    settle_version,
    settled,
    wrapped_function,
)
from lazyentity.native.places cimport (
    call_slot,
    call_vector,
    copy,
    enter,
    has_vectorcall,
    instead,
    is_function,
    replace_again,
    replace_bound,
    replace_definition,
    restore_definition,
    search,
    set_slot,
    slot_of,
    vector_of,
    vectorcall,
    wrapped_by,
)
from lazyentity.native.shortcuts cimport put_shortcut, remove_shortcut

import gc
import sys
from types import FunctionType

from lazyentity._mode import NOTES

SLOTS = True

cdef list _hooks = []  # by place
cdef list _whens = []  # by place
cdef list _wrapping = []  # by place: None, or a parameter, its position, When.is_deep, .is_flat
cdef list _names = []  # by place: keeps the names that it looks for
cdef list _originals = []
cdef dict _known = {}  # by the id of a function, or of a type with the name of a slot: the replacement
cdef tuple _OF_SLOTS = (type(vars(str)["__str__"]), type(len))
cdef object _BOUND = type(len)
# Other types of callables are called past their pointers: the interpreter knows functions of Python's.
cdef frozenset _WITH_VECTORCALL = frozenset(("cython_function_or_method", "nb_func", "nb_method"))
cdef dict _WHICH = {"__new__": 0, "__init__": 1, "__call__": 2}


cdef object _entered(int place, PyObject *self, PyObject *args, PyObject *kwargs):
    cdef tuple given = <tuple>args
    cdef dict named = {} if kwargs is NULL else <dict>kwargs
    wrapping = _wrapping[place]
    if wrapping is not None and all_hold_nothing(given, named, (<tuple>wrapping)[2], (<tuple>wrapping)[3]):
        return _wrapped(place, given, named, <tuple>wrapping)
    instance = None if self is NULL else <object>self
    return _hooks[place](_originals[place], instance, given, named)


cdef object _wrapped(int place, tuple args, dict kwargs, tuple wrapping):
    """Call with another function for unknown values, when nothing else needs the hook."""
    name, position, _, _ = wrapping
    if kwargs.get(name) is not None:
        # A copy: C code may have passed a dict that others have as well.
        kwargs = {**kwargs, name: wrapped_function(place, kwargs[name])}
    elif position is not None and len(args) > position:
        args = (*args[:position], wrapped_function(place, args[position]), *args[position + 1 :])
    return _originals[place](*args, **kwargs)


cdef int _searched(int place, PyObject *self, PyObject *args, PyObject *kwargs) except -1:
    instance = None if self is NULL else <object>self
    found = _whens[place].found
    return bool(found(instance, <object>args, {} if kwargs is NULL else <object>kwargs))


cdef void _look_into_error(int place) noexcept:
    cdef PyObject *kind
    cdef PyObject *error
    cdef PyObject *traceback
    # Nothing else must meet the error.
    PyErr_Fetch(&kind, &error, &traceback)
    PyErr_NormalizeException(&kind, &error, &traceback)
    try:
        looks = _whens[place].refused
        if looks is not None and is_any() and isinstance(<object>error, Exception):
            looks(<object>error)
    except Exception:
        # An entity of the error cannot be decoded, or the error cannot be read.
        pass
    PyErr_Restore(kind, error, traceback)


set_names(NOTES, sys.intern("self_instance"))
refused = _look_into_error
enter = _entered
settled = holds_nothing
asks_any = is_any
search = _searched


cdef int _install(int place, hook, when) except -1:
    cdef object parameter = None
    cdef object position = None
    for parameter, position in when.hooks.items():
        parameter = sys.intern(parameter)
    _hooks[place] = hook
    _whens[place] = when
    wrapped = when.wrapped if len(when.hooks) == 1 else None
    _wrapping[place] = None if wrapped is None else (parameter, position, when.is_deep, when.is_flat)
    set_when(
        place,
        when.always or len(when.hooks) > 1,
        when.is_deep,
        when.is_flat,
        when.found is not None,
        parameter,
        -1 if position is None else position,
        wrapped,
        0 if wrapped is None else offset_of(vars(wrapped)["_function"]),
        when.attribute,
    )
    kind, has_functions = when.options or (None, None)
    set_options(place, kind, has_functions)
    flags = None if when.flags is None else tuple(map(sys.intern, when.flags))
    if len(flags or ()) > FLAGS:
        raise ValueError(f"more than {FLAGS} flags")
    _names[place] = parameter, flags
    set_value(
        place, -1 if when.only is None else when.only, when.closed, flags, when.is_noted, when.is_check
    )
    return 0


cdef int _require_made(object target) except -1:
    # An instance that replacement() did not make has nothing to replace.
    if target is None:
        raise TypeError("only lazyentity makes replacements")
    return 0


@cython.final
cdef class _Function:
    """The replacement of what a function or method does."""

    cdef object function
    cdef int place

    def install(self, hook, when):
        _require_made(self.function)
        _install(self.place, hook, when)
        replace_again(self.place, self.function)

    def remove(self):
        _require_made(self.function)
        restore_definition(self.place, self.function)


@cython.final
cdef class _Slot:
    """The replacement of a pointer in a type, and in those that inherited it."""

    cdef object kind
    cdef str name
    cdef int which
    cdef int place
    cdef void *original

    def call(self, instance, /, *args, **kwargs):
        # As the wrapper of a slot, which the C function relies on.
        _require_made(self.kind)
        kind = instance if self.which == 0 and isinstance(instance, type) else type(instance)
        if not PyType_IsSubtype(kind, self.kind):
            raise TypeError(f"{self.name} of {self.kind.__name__} is not for a {kind.__name__}")
        return call_slot(self.original, self.which, instance, args, kwargs or None)

    cdef int _swap(self, void *before, void *after) except -1:
        cdef void **pointer
        stack = [self.kind]
        while stack:
            kind = stack.pop()
            pointer = slot_of(kind, self.which)
            if pointer[0] == before:
                pointer[0] = after
            stack += type.__subclasses__(kind)
        wrapper = vars(self.kind).get(self.name)
        pointer = NULL if wrapper is None else wrapped_by(wrapper)
        if pointer is not NULL and pointer[0] == before:
            pointer[0] = after

    def install(self, hook, when):
        _require_made(self.kind)
        _install(self.place, hook, when)
        self._swap(self.original, instead(self.place, self.which))

    def remove(self):
        _require_made(self.kind)
        self._swap(instead(self.place, self.which), self.original)


@cython.final
cdef class _Vector:
    """The replacement of the pointer that a function of Cython or nanobind is called by."""

    cdef object function
    cdef int place
    cdef void *original

    def call(self, *args, **kwargs):
        _require_made(self.function)
        return call_vector(self.original, self.function, args, kwargs)

    cdef int _swap(self, void *before, void *after) except -1:
        cdef void **pointer = vector_of(self.function)
        if pointer[0] == before:
            pointer[0] = after

    def install(self, hook, when):
        _require_made(self.function)
        _install(self.place, hook, when)
        self._swap(self.original, vectorcall(self.place))

    def remove(self):
        _require_made(self.function)
        self._swap(vectorcall(self.place), self.original)


cdef int _next() except -1:
    if len(_hooks) >= PLACES:
        raise AttributeError("there is no room for another replacement")
    return len(_hooks)


def replacement(holder, str name):
    """As :func:`lazyentity._inplace.replacement`."""
    function = vars(holder).get(name)
    cdef int place
    cdef _Slot slot
    cdef _Function of_function
    cdef _Vector vector
    # A class of Python's has functions there, which its subclasses call.
    cdef bint is_slot = isinstance(holder, type) and name in _WHICH and type(function) in _OF_SLOTS
    key = (id(holder), name) if is_slot else id(function)
    known = _known.get(key)
    if known is not None:
        return known
    place = _next()
    if is_slot:
        if (name == "__new__" and has_vectorcall(holder)) or slot_of(holder, _WHICH[name])[0] is NULL:
            return None
        slot = _Slot.__new__(_Slot)
        slot.kind, slot.name, slot.which, slot.place = holder, name, _WHICH[name], place
        slot.original = slot_of(holder, slot.which)[0]
        set_slot(place, slot.original)
        made, original = slot, slot.call
    elif type(function).__name__ in _WITH_VECTORCALL and vector_of(function) is not NULL:
        vector = _Vector.__new__(_Vector)
        vector.function, vector.place = function, place
        vector.original = vector_of(function)[0]
        set_slot(place, vector.original)
        made, original = vector, vector.call
    else:
        if not is_function(function):
            return None
        original = copy(function)
        if not replace_definition(place, function):
            return None
        restore_definition(place, function)
        of_function = _Function.__new__(_Function)
        of_function.function, of_function.place = function, place
        made = of_function
    _add(key, made, original)
    return made


cdef int _add(key, made, original) except -1:
    _hooks.append(None)
    _whens.append(None)
    _wrapping.append(None)
    _names.append(None)
    _originals.append(original)
    _known[key] = made
    return 0


def another(function, hook, when):
    """As :func:`lazyentity._inplace.another`."""
    key = (id(function), "another")
    cdef _Function made = _known.get(key)
    if made is None:
        if not is_function(function):
            raise TypeError(f"a function of C code is needed, not {type(function).__name__}")
        other = copy(function)
        made = _Function.__new__(_Function)
        made.function, made.place = other, _next()
        if not replace_definition(made.place, other):
            return None
        _add(key, made, function)
    made.install(hook, when)
    return made.function


def serve_bound(holder, names):
    """As :func:`lazyentity._inplace.serve_bound`."""
    cdef _Function made
    replaced = [_known[id(vars(holder)[name])] for name in names]
    for each in gc.get_objects():
        if type(each) is _BOUND:
            for made in replaced:
                replace_bound(made.place, each)
    return True


def shorten(function, original, int skipped):
    """As :func:`lazyentity._inplace.shorten`."""
    if type(function) is not FunctionType or type(original) is not FunctionType:
        raise TypeError("functions of Python's are needed")
    put_shortcut(function, original, skipped)


def lengthen(function):
    """As :func:`lazyentity._inplace.lengthen`."""
    if type(function) is not FunctionType:
        raise TypeError("a function of Python's is needed")
    remove_shortcut(function)


def forget_closed():
    """As :func:`lazyentity._inplace.forget_closed`."""
    forget_answers()


def settle_check(unsigned int version):
    """As :func:`lazyentity._inplace.settle_check`."""
    settle_version(version)
