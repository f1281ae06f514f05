# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""Replacing what a function, a method or a class of C code does, while its object stays the same.

:mod:`lazyentity._inplace` documents it. A function object of CPython's refers to a PyMethodDef,
and reads the C function from there at each call, as the interpreter's specialised instructions do.
It gets another PyMethodDef, with the same name, flags and documentation. The calls and the
construction of a type are pointers in the type.

The C functions that take the place have no room for data, so there is one for each index of a table.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.type cimport PyType_IsSubtype

from lazyentity.native.alive cimport holds_nothing

cdef extern from *:
    """
    #define LAZYENTITY_PLACES 64

    /* Of a function or method: its own definition, and the one that takes its place. Of a slot: its pointer. */
    typedef struct {
        PyMethodDef *original;
        PyMethodDef replacement;
        void *slot;
        int always;
    } lazyentity_place;

    static lazyentity_place lazyentity_places[LAZYENTITY_PLACES];

    /* Calls the hook of a place; returns a new reference, or NULL with an error. */
    static PyObject *(*lazyentity_enter)(int, PyObject *, PyObject *, PyObject *);

    /* Whether there is nothing for a hook to do with such arguments. */
    static int (*lazyentity_settled)(PyObject *const *, Py_ssize_t);

    static int lazyentity_idle(int place, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        if (names != NULL) count += PyTuple_GET_SIZE(names);
        return !lazyentity_places[place].always && lazyentity_settled(items, count);
    }

    static int lazyentity_idle_call(int place, PyObject *args, PyObject *kwargs)
    {
        Py_ssize_t i = 0;
        PyObject *value;
        if (!lazyentity_idle(place, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), NULL)) return 0;
        while (kwargs != NULL && PyDict_Next(kwargs, &i, NULL, &value)) {
            if (!lazyentity_settled(&value, 1)) return 0;
        }
        return 1;
    }

    /* The C function that a hook takes the place of. */
    static void *lazyentity_original(int place)
    {
        lazyentity_place *found = &lazyentity_places[place];
        return found->slot != NULL ? found->slot : (void *)found->original->ml_meth;
    }

    typedef PyObject *(*lazyentity_fastcall)(PyObject *, PyObject *const *, Py_ssize_t);
    typedef PyObject *(*lazyentity_fastcall_keywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
    typedef PyObject *(*lazyentity_method)(
        PyObject *, PyTypeObject *, PyObject *const *, Py_ssize_t, PyObject *);

    static PyObject *
    lazyentity_vector(int place, PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        PyObject *args, *kwargs = NULL, *result = NULL;
        Py_ssize_t i, named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
        args = PyTuple_New(count);
        if (args == NULL) return NULL;
        for (i = 0; i < count; i++) {
            Py_INCREF(items[i]);
            PyTuple_SET_ITEM(args, i, items[i]);
        }
        if (named) {
            kwargs = PyDict_New();
            if (kwargs == NULL) goto done;
            for (i = 0; i < named; i++) {
                if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), items[count + i]) < 0) goto done;
            }
        }
        result = lazyentity_enter(place, self, args, kwargs);
    done:
        Py_DECREF(args);
        Py_XDECREF(kwargs);
        return result;
    }

    #define LAZYENTITY_FUNCTIONS(i) \
        static PyObject *lazyentity_keywords_##i(PyObject *self, PyObject *args, PyObject *kwargs) { \
            if (lazyentity_idle_call(i, args, kwargs)) \
                return ((ternaryfunc)lazyentity_original(i))(self, args, kwargs); \
            return lazyentity_enter(i, self, args, kwargs); } \
        static PyObject *lazyentity_fast_##i(PyObject *self, PyObject *const *items, Py_ssize_t count) { \
            if (lazyentity_idle(i, items, count, NULL)) \
                return ((lazyentity_fastcall)lazyentity_original(i))(self, items, count); \
            return lazyentity_vector(i, self, items, count, NULL); } \
        static PyObject *lazyentity_both_##i(PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names) { \
            if (lazyentity_idle(i, items, count, names)) \
                return ((lazyentity_fastcall_keywords)lazyentity_original(i))(self, items, count, names); \
            return lazyentity_vector(i, self, items, count, names); } \
        static PyObject *lazyentity_class_##i(PyObject *self, PyTypeObject *kind, PyObject *const *items, Py_ssize_t count, PyObject *names) { \
            if (lazyentity_idle(i, items, count, names)) \
                return ((lazyentity_method)lazyentity_original(i))(self, kind, items, count, names); \
            return lazyentity_vector(i, self, items, count, names); } \
        static PyObject *lazyentity_one_##i(PyObject *self, PyObject *arg) { \
            if (lazyentity_idle(i, &arg, 1, NULL)) \
                return ((PyCFunction)lazyentity_original(i))(self, arg); \
            return lazyentity_vector(i, self, &arg, 1, NULL); } \
        static int lazyentity_init_##i(PyObject *self, PyObject *args, PyObject *kwargs) { \
            PyObject *result; \
            if (lazyentity_idle_call(i, args, kwargs)) \
                return ((initproc)lazyentity_original(i))(self, args, kwargs); \
            result = lazyentity_enter(i, self, args, kwargs); \
            Py_XDECREF(result); \
            return result == NULL ? -1 : 0; }

    #define LAZYENTITY_EIGHT(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7)
    /* Octal numbers: a leading 0 is part of the index. */
    #define LAZYENTITY_ALL(X) \
        LAZYENTITY_EIGHT(X, 0) LAZYENTITY_EIGHT(X, 01) LAZYENTITY_EIGHT(X, 02) LAZYENTITY_EIGHT(X, 03) \
        LAZYENTITY_EIGHT(X, 04) LAZYENTITY_EIGHT(X, 05) LAZYENTITY_EIGHT(X, 06) LAZYENTITY_EIGHT(X, 07)

    LAZYENTITY_ALL(LAZYENTITY_FUNCTIONS)

    #define LAZYENTITY_POINTERS(i) { \
        (void (*)(void))lazyentity_keywords_##i, (void (*)(void))lazyentity_fast_##i, \
        (void (*)(void))lazyentity_both_##i, (void (*)(void))lazyentity_class_##i, \
        (void (*)(void))lazyentity_one_##i, (void (*)(void))lazyentity_init_##i },

    static void (*lazyentity_functions[LAZYENTITY_PLACES][6])(void) = { LAZYENTITY_ALL(LAZYENTITY_POINTERS) };

    /* Without a keyword argument, such a function gets two arguments, and the third is not there. */
    static PyObject *
    lazyentity_positional(int place, PyObject *self, PyObject *args)
    {
        if (lazyentity_idle_call(place, args, NULL)) return ((PyCFunction)lazyentity_original(place))(self, args);
        return lazyentity_enter(place, self, args, NULL);
    }
    #define LAZYENTITY_POSITIONAL(i) \
        static PyObject *lazyentity_positional_##i(PyObject *self, PyObject *args) { \
            return lazyentity_positional(i, self, args); }
    LAZYENTITY_ALL(LAZYENTITY_POSITIONAL)
    #define LAZYENTITY_POSITIONAL_POINTER(i) lazyentity_positional_##i,
    static PyCFunction lazyentity_positionals[LAZYENTITY_PLACES] = { LAZYENTITY_ALL(LAZYENTITY_POSITIONAL_POINTER) };

    /* The C function of a place for a calling convention; NULL for those that are not supported. */
    static void (*lazyentity_function(int place, int flags))(void)
    {
        switch (flags & (METH_VARARGS | METH_FASTCALL | METH_NOARGS | METH_O | METH_KEYWORDS | METH_METHOD)) {
        case METH_VARARGS: return (void (*)(void))lazyentity_positionals[place];
        case METH_VARARGS | METH_KEYWORDS: return lazyentity_functions[place][0];
        case METH_FASTCALL: return lazyentity_functions[place][1];
        case METH_FASTCALL | METH_KEYWORDS: return lazyentity_functions[place][2];
        case METH_METHOD | METH_FASTCALL | METH_KEYWORDS: return lazyentity_functions[place][3];
        case METH_O: return lazyentity_functions[place][4];
        }
        return NULL;
    }

    /* Where a function or method refers to its definition; NULL for an object that has none. */
    static PyMethodDef **lazyentity_definition(PyObject *function)
    {
        if (Py_TYPE(function) == &PyCFunction_Type || Py_TYPE(function) == &PyCMethod_Type)
            return &((PyCFunctionObject *)function)->m_ml;
        if (Py_TYPE(function) == &PyMethodDescr_Type)
            return &((PyMethodDescrObject *)function)->d_method;
        return NULL;
    }

    /* Another object like a function or method, with the definition that it has now. */
    static PyObject *lazyentity_copy(PyObject *function)
    {
        PyMethodDef *definition = *lazyentity_definition(function);
        if (Py_TYPE(function) == &PyMethodDescr_Type)
            return PyDescr_NewMethod(((PyDescrObject *)function)->d_type, definition);
        return PyCMethod_New(
            definition, PyCFunction_GET_SELF(function), ((PyCFunctionObject *)function)->m_module,
            PyCFunction_GET_CLASS(function));
    }

    static int lazyentity_is_function(PyObject *function)
    {
        return lazyentity_definition(function) != NULL;
    }

    static int lazyentity_replace(int place, PyObject *function)
    {
        PyMethodDef **definition = lazyentity_definition(function);
        void (*instead)(void);
        instead = lazyentity_function(place, (*definition)->ml_flags);
        if (instead == NULL) return 0;
        lazyentity_places[place].original = *definition;
        lazyentity_places[place].replacement = **definition;
        lazyentity_places[place].replacement.ml_meth = (PyCFunction)instead;
        *definition = &lazyentity_places[place].replacement;
        return 1;
    }

    static void lazyentity_restore(int place, PyObject *function)
    {
        PyMethodDef **definition = lazyentity_definition(function);
        if (*definition == &lazyentity_places[place].replacement) *definition = lazyentity_places[place].original;
    }

    static void lazyentity_again(int place, PyObject *function)
    {
        *lazyentity_definition(function) = &lazyentity_places[place].replacement;
    }

    /* Of a type: tp_new (0), tp_init (1) or tp_call (2). */
    static void **lazyentity_slot(PyObject *type, int which)
    {
        PyTypeObject *kind = (PyTypeObject *)type;
        return which == 0 ? (void **)&kind->tp_new : which == 1 ? (void **)&kind->tp_init : (void **)&kind->tp_call;
    }

    static void *lazyentity_instead(int place, int which)
    {
        return (void *)lazyentity_functions[place][which == 1 ? 5 : 0];
    }

    /* A subclass inherits the pointer that the wrapper of a slot has. */
    static void **lazyentity_wrapped(PyObject *wrapper)
    {
        return Py_TYPE(wrapper) == &PyWrapperDescr_Type ? &((PyWrapperDescrObject *)wrapper)->d_wrapped : NULL;
    }

    static void lazyentity_set_slot(int place, void *function) { lazyentity_places[place].slot = function; }
    static void lazyentity_set_always(int place, int always) { lazyentity_places[place].always = always; }

    static int lazyentity_has_vectorcall(PyObject *type)
    {
        return ((PyTypeObject *)type)->tp_vectorcall != NULL;
    }

    static PyObject *lazyentity_call_slot(void *function, int which, PyObject *self, PyObject *args, PyObject *kwargs)
    {
        if (kwargs == Py_None) kwargs = NULL;
        if (which == 1) {
            if (((initproc)function)(self, args, kwargs) < 0) return NULL;
            Py_RETURN_NONE;
        }
        return ((ternaryfunc)function)(self, args, kwargs);
    }
    """
    const int PLACES "LAZYENTITY_PLACES"
    ctypedef object (*Enter)(int place, PyObject *self, PyObject *args, PyObject *kwargs)
    Enter enter "lazyentity_enter"
    ctypedef bint (*Settled)(PyObject* const* values, Py_ssize_t count) noexcept
    Settled settled "lazyentity_settled"
    void set_slot "lazyentity_set_slot"(int place, void *function)
    void set_always "lazyentity_set_always"(int place, bint always)
    bint is_function "lazyentity_is_function"(object function)
    object copy "lazyentity_copy"(object function)
    bint replace_definition "lazyentity_replace"(int place, object function)
    void restore_definition "lazyentity_restore"(int place, object function)
    void replace_again "lazyentity_again"(int place, object function)
    void **slot_of "lazyentity_slot"(object kind, int which)
    void *instead "lazyentity_instead"(int place, int which)
    void **wrapped_by "lazyentity_wrapped"(object wrapper)
    bint has_vectorcall "lazyentity_has_vectorcall"(object kind)
    object call_slot "lazyentity_call_slot"(void *function, int which, object self, object args, object kwargs)


SLOTS = True

cdef list _hooks = []  # by place
cdef list _originals = []
cdef dict _known = {}  # by the id of a function, or of a type with the name of a slot: the replacement
cdef tuple _OF_SLOTS = (type(vars(str)["__str__"]), type(len))
cdef dict _WHICH = {"__new__": 0, "__init__": 1, "__call__": 2}


cdef object _entered(int place, PyObject *self, PyObject *args, PyObject *kwargs):
    hook = _hooks[place]
    instance = None if self is NULL else <object>self
    return hook(
        _originals[place], instance, <object>args, {} if kwargs is NULL else <object>kwargs
    )


enter = _entered
settled = holds_nothing


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

    def install(self, hook, always):
        _require_made(self.function)
        _hooks[self.place] = hook
        set_always(self.place, always)
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

    def install(self, hook, always):
        _require_made(self.kind)
        _hooks[self.place] = hook
        set_always(self.place, always)
        self._swap(self.original, instead(self.place, self.which))

    def remove(self):
        _require_made(self.kind)
        self._swap(instead(self.place, self.which), self.original)


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
    _hooks.append(None)
    _originals.append(original)
    _known[key] = made
    return made
