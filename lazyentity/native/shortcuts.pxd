# Calling a function of Python's past its replacement: see inplace.pyx.

# Before this module: its C code is used here.
from lazyentity.native.conditions cimport PLACES as _PLACES

cdef extern from *:
    """
    #define LAZYENTITY_SHORTCUTS 32

    /* A function, the code of its replacement, the function that it was, and how many arguments do not count.
       They are kept: the functions of libraries live as long. */
    static struct {
        PyFunctionObject *function, *original;
        PyObject *code;
        Py_ssize_t skipped;
    } lazyentity_shortcuts[LAZYENTITY_SHORTCUTS];
    static int lazyentity_shortcut_count;

    static int lazyentity_shortcut_of(PyObject *function)
    {
        int i = 0;
        while (i < lazyentity_shortcut_count && (PyObject *)lazyentity_shortcuts[i].function != function) i++;
        return i;
    }

    /* C code calls a function by its pointer, as does the interpreter for one that is not the usual pointer. The
       interpreter of Python 3.11 does not look at it, and enters the code. */
    static PyObject *
    lazyentity_short_call(PyObject *function, PyObject *const *items, size_t flags, PyObject *names)
    {
        int i = lazyentity_shortcut_of(function);
        PyFunctionObject *given = (PyFunctionObject *)function, *original = lazyentity_shortcuts[i].original;
        Py_ssize_t count = PyVectorcall_NARGS(flags), skipped = lazyentity_shortcuts[i].skipped;
        if (skipped > count) skipped = count;
        count += names == NULL ? 0 : PyTuple_GET_SIZE(names);
        /* Somebody may have changed the function meanwhile. */
        if (given->func_code == lazyentity_shortcuts[i].code && given->func_defaults == original->func_defaults
            && given->func_kwdefaults == original->func_kwdefaults
            && lazyentity_settled(items + skipped, count - skipped, 0, 0)) function = (PyObject *)original;
        return original->vectorcall(function, items, flags, names);
    }

    /* Nothing is done for too many functions, nor for one that somebody else has called in another way. A function
       may be replaced again, with other code. */
    static void lazyentity_shorten(PyObject *function, PyObject *original, Py_ssize_t skipped)
    {
        PyFunctionObject *given = (PyFunctionObject *)function;
        int i = lazyentity_shortcut_of(function);
        if (given->vectorcall != lazyentity_short_call
            && (i == LAZYENTITY_SHORTCUTS || given->vectorcall != ((PyFunctionObject *)original)->vectorcall)) return;
        if (i == lazyentity_shortcut_count) {
            lazyentity_shortcuts[i].function = (PyFunctionObject *)Py_NewRef(function);
            lazyentity_shortcuts[i].original = (PyFunctionObject *)Py_NewRef(original);
            lazyentity_shortcut_count++;
        }
        lazyentity_shortcuts[i].skipped = skipped;
        Py_XSETREF(lazyentity_shortcuts[i].code, Py_NewRef(given->func_code));
        given->vectorcall = lazyentity_short_call;
    }

    static void lazyentity_lengthen(PyObject *function)
    {
        PyFunctionObject *given = (PyFunctionObject *)function;
        if (given->vectorcall != lazyentity_short_call) return;
        given->vectorcall = lazyentity_shortcuts[lazyentity_shortcut_of(function)].original->vectorcall;
    }
    """
    void put_shortcut "lazyentity_shorten"(object function, object original, Py_ssize_t skipped)
    void remove_shortcut "lazyentity_lengthen"(object function)
