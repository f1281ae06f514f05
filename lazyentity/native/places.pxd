# Replacing what a function, a method or a class of C code does: see inplace.pyx.
#
# The C functions that take the place have no room for data, so there is one for each index of a table.

from cpython.object cimport PyObject

# Before this module: its C code is used here.
from lazyentity.native.conditions cimport PLACES as _PLACES

cdef extern from *:
    """
    /* Calls the hook of a place; returns a new reference, or NULL with an error. */
    static PyObject *(*lazyentity_enter)(int, PyObject *, PyObject *, PyObject *);

    /* Whether a failed call is to be made again; with an error, if not. */
    static int (*lazyentity_search)(int, PyObject *, PyObject *, PyObject *);

    /* Whether to make a call again that failed; the error remains, if not. */
    static int lazyentity_again_call(int number, int was_any, PyObject *self, PyObject *args, PyObject *kwargs)
    {
        PyObject *type, *value, *traceback;
        int found;
        if (!lazyentity_places[number].is_searched || !PyErr_ExceptionMatches(PyExc_Exception)) return 0;
        /* Counting allocates, and must not meet the error. */
        PyErr_Fetch(&type, &value, &traceback);
        found = (was_any || lazyentity_any()) ? lazyentity_search(number, self, args, kwargs) : 0;
        if (found == 0) {
            PyErr_Restore(type, value, traceback);
            return 0;
        }
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return found > 0;
    }

    /* Turn the arguments of a vectorcall into a tuple and a dict; returns -1 with an error. */
    static int lazyentity_packed(
        PyObject *const *items, Py_ssize_t count, PyObject *names, PyObject **args, PyObject **kwargs)
    {
        Py_ssize_t i, named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
        *kwargs = NULL;
        *args = PyTuple_New(count);
        if (*args == NULL) return -1;
        for (i = 0; i < count; i++) {
            Py_INCREF(items[i]);
            PyTuple_SET_ITEM(*args, i, items[i]);
        }
        if (named == 0) return 0;
        *kwargs = PyDict_New();
        for (i = 0; *kwargs != NULL && i < named; i++) {
            if (PyDict_SetItem(*kwargs, PyTuple_GET_ITEM(names, i), items[count + i]) < 0) Py_CLEAR(*kwargs);
        }
        if (*kwargs != NULL) return 0;
        Py_CLEAR(*args);
        return -1;
    }

    static int lazyentity_again(
        int number, int was_any, PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        PyObject *args, *kwargs, *type, *value, *traceback;
        int found;
        if (!lazyentity_places[number].is_searched) return 0;
        PyErr_Fetch(&type, &value, &traceback);
        found = lazyentity_packed(items, count, names, &args, &kwargs);
        if (found < 0) {
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
            return 0;
        }
        PyErr_Restore(type, value, traceback);
        found = lazyentity_again_call(number, was_any, self, args, kwargs);
        Py_DECREF(args);
        Py_XDECREF(kwargs);
        return found;
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
        PyObject *args, *kwargs, *result;
        if (lazyentity_packed(items, count, names, &args, &kwargs) < 0) return NULL;
        result = lazyentity_enter(place, self, args, kwargs);
        Py_DECREF(args);
        Py_XDECREF(kwargs);
        return result;
    }

    /* The body of a function that takes a place; ORIGINAL calls what was there. */
    #define LAZYENTITY_RUN(IDLE, AGAIN, ENTER, ORIGINAL) \
        int is_noted = lazyentity_places[place].is_noted, how, was_any; \
        PyObject *result; \
        if (lazyentity_begin(is_noted) < 0) return NULL; \
        how = IDLE; \
        if (!how) return lazyentity_end(is_noted, ENTER); \
        was_any = lazyentity_places[place].is_searched && lazyentity_any(); \
        result = ORIGINAL; \
        if (result == NULL && AGAIN) result = ORIGINAL; \
        if (result == NULL && how == 2) lazyentity_refused(place); \
        return lazyentity_end(is_noted, result);

    #define LAZYENTITY_CALLED(kwargs, ORIGINAL) \
        LAZYENTITY_RUN(lazyentity_idle_call(place, self, args, kwargs), \
            lazyentity_again_call(place, was_any, self, args, kwargs), \
            lazyentity_enter(place, self, args, kwargs), ORIGINAL)

    #define LAZYENTITY_VECTOR(items, count, names, ORIGINAL) \
        LAZYENTITY_RUN(lazyentity_idle(place, self, items, count, names), \
            lazyentity_again(place, was_any, self, items, count, names), \
            lazyentity_vector(place, self, items, count, names), ORIGINAL)

    /* One for each calling convention. Not inline: each place has functions that jump here, and nothing
       else. The place comes last, so the other arguments stay in their registers. */
    static Py_NO_INLINE PyObject *lazyentity_keywords(PyObject *self, PyObject *args, PyObject *kwargs, int place)
    {
        LAZYENTITY_CALLED(kwargs, ((ternaryfunc)lazyentity_original(place))(self, args, kwargs))
    }

    /* Without a keyword argument, such a function gets two arguments, and the third is not there. */
    static Py_NO_INLINE PyObject *lazyentity_positional(PyObject *self, PyObject *args, int place)
    {
        LAZYENTITY_CALLED(NULL, ((PyCFunction)lazyentity_original(place))(self, args))
    }

    static Py_NO_INLINE PyObject *
    lazyentity_fast(PyObject *self, PyObject *const *items, Py_ssize_t count, int place)
    {
        LAZYENTITY_VECTOR(items, count, NULL,
            ((lazyentity_fastcall)lazyentity_original(place))(self, items, count))
    }

    static Py_NO_INLINE PyObject *
    lazyentity_both(PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names, int place)
    {
        PyObject *wrapped, *given[LAZYENTITY_FEW], *returned;
        if (lazyentity_places[place].wrap != NULL) {
            wrapped = lazyentity_wrapped_within(place, given, items, count, names);
            if (wrapped != NULL) {
                returned = ((lazyentity_fastcall_keywords)lazyentity_original(place))(self, given, count, names);
                Py_DECREF(wrapped);
                return returned;
            }
            if (PyErr_Occurred()) return NULL;
        }
        LAZYENTITY_VECTOR(items, count, names,
            ((lazyentity_fastcall_keywords)lazyentity_original(place))(self, items, count, names))
    }

    static Py_NO_INLINE PyObject *
    lazyentity_class(
        PyObject *self, PyTypeObject *kind, PyObject *const *items, Py_ssize_t count, PyObject *names, int place)
    {
        LAZYENTITY_VECTOR(items, count, names,
            ((lazyentity_method)lazyentity_original(place))(self, kind, items, count, names))
    }

    static Py_NO_INLINE PyObject *lazyentity_one(PyObject *self, PyObject *arg, int place)
    {
        LAZYENTITY_VECTOR(&arg, 1, NULL, ((PyCFunction)lazyentity_original(place))(self, arg))
    }

    static Py_NO_INLINE PyObject *
    lazyentity_called(PyObject *function, PyObject *const *items, size_t flags, PyObject *names, int place)
    {
        PyObject *self = NULL;
        Py_ssize_t count = PyVectorcall_NARGS(flags);
        LAZYENTITY_VECTOR(items, count, names,
            ((vectorcallfunc)lazyentity_original(place))(function, items, flags, names))
    }

    static Py_NO_INLINE int lazyentity_init(PyObject *self, PyObject *args, PyObject *kwargs, int place)
    {
        PyObject *result;
        if (lazyentity_idle_call(place, self, args, kwargs))
            return ((initproc)lazyentity_original(place))(self, args, kwargs);
        result = lazyentity_enter(place, self, args, kwargs);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }

    #define LAZYENTITY_FUNCTIONS(i) \
        static PyObject *lazyentity_keywords_##i(PyObject *self, PyObject *args, PyObject *kwargs) { \
            return lazyentity_keywords(self, args, kwargs, i); } \
        static PyObject *lazyentity_positional_##i(PyObject *self, PyObject *args) { \
            return lazyentity_positional(self, args, i); } \
        static PyObject *lazyentity_fast_##i(PyObject *self, PyObject *const *items, Py_ssize_t count) { \
            return lazyentity_fast(self, items, count, i); } \
        static PyObject *lazyentity_both_##i( \
            PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names) { \
            return lazyentity_both(self, items, count, names, i); } \
        static PyObject *lazyentity_class_##i( \
            PyObject *self, PyTypeObject *kind, PyObject *const *items, Py_ssize_t count, PyObject *names) { \
            return lazyentity_class(self, kind, items, count, names, i); } \
        static PyObject *lazyentity_one_##i(PyObject *self, PyObject *arg) { return lazyentity_one(self, arg, i); } \
        static PyObject *lazyentity_called_##i( \
            PyObject *function, PyObject *const *items, size_t flags, PyObject *names) { \
            return lazyentity_called(function, items, flags, names, i); } \
        static int lazyentity_init_##i(PyObject *self, PyObject *args, PyObject *kwargs) { \
            return lazyentity_init(self, args, kwargs, i); }

    #define LAZYENTITY_EIGHT(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7)
    /* Octal numbers: a leading 0 is part of the index. */
    #define LAZYENTITY_ALL(X) \
        LAZYENTITY_EIGHT(X, 0) LAZYENTITY_EIGHT(X, 01) LAZYENTITY_EIGHT(X, 02) LAZYENTITY_EIGHT(X, 03) \
        LAZYENTITY_EIGHT(X, 04) LAZYENTITY_EIGHT(X, 05) LAZYENTITY_EIGHT(X, 06) LAZYENTITY_EIGHT(X, 07) \
        LAZYENTITY_EIGHT(X, 010) LAZYENTITY_EIGHT(X, 011) LAZYENTITY_EIGHT(X, 012) LAZYENTITY_EIGHT(X, 013)

    LAZYENTITY_ALL(LAZYENTITY_FUNCTIONS)

    #define LAZYENTITY_POINTERS(i) { \
        (void (*)(void))lazyentity_keywords_##i, (void (*)(void))lazyentity_fast_##i, \
        (void (*)(void))lazyentity_both_##i, (void (*)(void))lazyentity_class_##i, \
        (void (*)(void))lazyentity_one_##i, (void (*)(void))lazyentity_init_##i, \
        (void (*)(void))lazyentity_positional_##i, (void (*)(void))lazyentity_called_##i },

    static void (*lazyentity_functions[LAZYENTITY_PLACES][8])(void) = { LAZYENTITY_ALL(LAZYENTITY_POINTERS) };

    /* The C function of a place for a calling convention; NULL for those that are not supported. */
    static void (*lazyentity_function(int place, int flags))(void)
    {
        switch (flags & (METH_VARARGS | METH_FASTCALL | METH_NOARGS | METH_O | METH_KEYWORDS | METH_METHOD)) {
        case METH_VARARGS: return lazyentity_functions[place][6];
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

    static void lazyentity_replace_again(int place, PyObject *function)
    {
        *lazyentity_definition(function) = &lazyentity_places[place].replacement;
    }

    /* Have a method that was bound before do what the method does; of a place that is in force. */
    static void lazyentity_replace_bound(int place, PyObject *bound)
    {
        PyCFunctionObject *method = (PyCFunctionObject *)bound;
        if (Py_TYPE(bound) == &PyCFunction_Type && method->m_ml == lazyentity_places[place].original)
            method->m_ml = &lazyentity_places[place].replacement;
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

    /* The pointer that an object is called by; NULL if it has none. */
    static void **lazyentity_vector_of(PyObject *function)
    {
        PyTypeObject *type = Py_TYPE(function);
        void **pointer;
        if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0) return NULL;
        pointer = (void **)((char *)function + type->tp_vectorcall_offset);
        return *pointer == NULL ? NULL : pointer;
    }

    static void *lazyentity_vectorcall(int place) { return (void *)lazyentity_functions[place][7]; }

    static PyObject *lazyentity_call_vector(void *pointer, PyObject *function, PyObject *args, PyObject *kwargs)
    {
        Py_ssize_t i = 0, count = PyTuple_GET_SIZE(args), position = 0;
        PyObject *name, *value, *names = NULL, *returned = NULL;
        PyObject **items = PyMem_New(PyObject *, count + PyDict_GET_SIZE(kwargs) + 1);
        if (items == NULL) return PyErr_NoMemory();
        memcpy(items, ((PyTupleObject *)args)->ob_item, count * sizeof(PyObject *));
        if (PyDict_GET_SIZE(kwargs) == 0 || (names = PyTuple_New(PyDict_GET_SIZE(kwargs))) != NULL) {
            while (names != NULL && PyDict_Next(kwargs, &position, &name, &value)) {
                Py_INCREF(name);
                PyTuple_SET_ITEM(names, i, name);
                items[count + i++] = value;
            }
            returned = ((vectorcallfunc)pointer)(function, items, count, names);
        }
        Py_XDECREF(names);
        PyMem_Free(items);
        return returned;
    }

    static void lazyentity_set_slot(int place, void *function) { lazyentity_places[place].slot = function; }

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
    ctypedef object (*Enter)(int place, PyObject *self, PyObject *args, PyObject *kwargs)
    Enter enter "lazyentity_enter"
    ctypedef int (*Search)(int place, PyObject *self, PyObject *args, PyObject *kwargs) except -1
    Search search "lazyentity_search"
    void set_slot "lazyentity_set_slot"(int place, void *function)
    void replace_bound "lazyentity_replace_bound"(int place, object bound)
    bint is_function "lazyentity_is_function"(object function)
    object copy "lazyentity_copy"(object function)
    bint replace_definition "lazyentity_replace"(int place, object function)
    void restore_definition "lazyentity_restore"(int place, object function)
    void replace_again "lazyentity_replace_again"(int place, object function)
    void **slot_of "lazyentity_slot"(object kind, int which)
    void *instead "lazyentity_instead"(int place, int which)
    void **wrapped_by "lazyentity_wrapped"(object wrapper)
    bint has_vectorcall "lazyentity_has_vectorcall"(object kind)
    void **vector_of "lazyentity_vector_of"(object function)
    void *vectorcall "lazyentity_vectorcall"(int place)
    object call_vector "lazyentity_call_vector"(void *pointer, object function, tuple args, dict kwargs)
    object call_slot "lazyentity_call_slot"(void *function, int which, object self, object args, object kwargs)
