# When a replacement of a function, a method or a class of C code calls its hook: see places.pxd.

from cpython.object cimport PyObject

cdef extern from *:
    """
    #define LAZYENTITY_PLACES 96
    #define LAZYENTITY_FLAGS 2

    /* Of a function or method: its own definition, and the one that takes its place. Of a slot: its pointer.
       The others say when the hook is called, as When of lazyentity/_inplace.py; is_special, whether it depends
       on more than whether the arguments are settled. */
    typedef struct {
        PyMethodDef *original;
        PyMethodDef replacement;
        void *slot;
        int always, is_deep, is_flat, is_searched, is_noted, is_check, is_special;
        PyObject *parameter, *attribute, *wrap;
        Py_ssize_t wrap_offset, position, only;
        PyObject *closed, *flags, *options, *has_functions;
        /* The names of the last call, and where its parameter and flags are among them; -1, if they are not. */
        PyObject *names;
        Py_ssize_t named, flagged[LAZYENTITY_FLAGS];
    } lazyentity_place;

    static lazyentity_place lazyentity_places[LAZYENTITY_PLACES];

    /* Whether a property is undecoded. */
    static int (*lazyentity_any)(void);

    /* Whether there is nothing for a hook to do with such arguments. */
    static int (*lazyentity_settled)(PyObject *const *, Py_ssize_t, int, int);

    /* Looks into the error of a call whose argument was not looked into. */
    static void (*lazyentity_refused)(int);

    /* The notes of lazyentity/_mode.py. */
    static PyObject *lazyentity_notes;

    /* The name of a parameter of pydantic-core's validators. */
    static PyObject *lazyentity_self_instance;

    static int lazyentity_begin(int is_noted)
    {
        if (!is_noted) return 0;
    #ifndef Py_GIL_DISABLED
        /* As list.append(), where there is room. */
        PyListObject *notes = (PyListObject *)lazyentity_notes;
        Py_ssize_t count = Py_SIZE(notes);
        if (count < notes->allocated) {
            Py_INCREF(Py_None);
            notes->ob_item[count] = Py_None;
            Py_SET_SIZE(notes, count + 1);
            return 0;
        }
    #endif
        return PyList_Append(lazyentity_notes, Py_None);
    }

    static PyObject *lazyentity_end(int is_noted, PyObject *result)
    {
        Py_ssize_t last;
        if (!is_noted) return result;
        last = PyList_GET_SIZE(lazyentity_notes) - 1;
        if (last < 0) return result;
    #ifdef Py_GIL_DISABLED
        PyList_SetSlice(lazyentity_notes, last, last + 1, NULL);
    #else
        /* As list.pop(), which takes several times as long when it is called. Every item is None. */
        Py_SET_SIZE(lazyentity_notes, last);
        Py_DECREF(Py_None);
    #endif
        return result;
    }

    static int lazyentity_has_function(lazyentity_place *place, PyObject *self)
    {
        PyObject *found;
        int is_given;
        if (place->attribute == NULL || self == NULL) return 0;
        found = PyObject_GetAttr(self, place->attribute);
        if (found == NULL) PyErr_Clear();
        is_given = found != NULL && found != Py_None;
        Py_XDECREF(found);
        return is_given;
    }

    static int lazyentity_is_scalar_value(PyObject *value)
    {
        return PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) || PyLong_CheckExact(value) || value == Py_None;
    }

    /* Whether a name is one of ours, which are interned: of two such strings, none equals the other. */
    static int lazyentity_is_name(PyObject *name, PyObject *ours)
    {
        return name == ours || (!PyUnicode_CHECK_INTERNED(name) && PyUnicode_Compare(name, ours) == 0);
    }

    static int lazyentity_is_parameter(lazyentity_place *place, PyObject *name)
    {
        return lazyentity_is_name(name, place->parameter);
    }

    /* Whether options among the arguments hold functions for unknown values. */
    static int lazyentity_have_functions(lazyentity_place *place, PyObject *const *items, Py_ssize_t count)
    {
        PyObject *answer;
        Py_ssize_t i;
        for (i = 0; place->options != NULL && i < count; i++) {
            if (!PyType_IsSubtype(Py_TYPE(items[i]), (PyTypeObject *)place->options)) continue;
            answer = PyObject_CallOneArg(place->has_functions, items[i]);
            if (answer == NULL) PyErr_Clear();
            Py_XDECREF(answer);
            /* False is immortal, or has many references. */
            if (answer != Py_False) return 1;
        }
        return 0;
    }

    /* Calls by one place of the application's code have one tuple of names, and many of them. */
    static void lazyentity_find_names(lazyentity_place *place, PyObject *names)
    {
        Py_ssize_t i, j;
        PyObject *before = place->names;
        if (before == names) return;
        place->named = -1;
        for (j = 0; j < LAZYENTITY_FLAGS; j++) place->flagged[j] = -1;
        for (i = 0; i < PyTuple_GET_SIZE(names); i++) {
            PyObject *name = PyTuple_GET_ITEM(names, i);
            if (place->parameter != NULL && lazyentity_is_parameter(place, name)) place->named = i;
            for (j = 0; place->flags != NULL && j < PyTuple_GET_SIZE(place->flags); j++) {
                if (lazyentity_is_name(name, PyTuple_GET_ITEM(place->flags, j))) place->flagged[j] = i;
            }
        }
        /* A string of a subclass must not live longer, and its finalizer must not run here: it may call. */
        for (i = 0; i < PyTuple_GET_SIZE(names) && PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i)); i++) {}
        place->names = i == PyTuple_GET_SIZE(names) ? Py_NewRef(names) : NULL;
        Py_XDECREF(before);
    }

    /* Where a function for unknown values is among the arguments; -1, if there is none. */
    static Py_ssize_t
    lazyentity_function_at(lazyentity_place *place, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        PyObject *value;
        if (place->parameter == NULL) return -1;
        if (place->position >= 0 && place->position < count && items[place->position] != Py_None) return place->position;
        if (names == NULL) return -1;
        lazyentity_find_names(place, names);
        if (place->named < 0) return -1;
        value = items[count + place->named];
        /* No library takes False for a function. */
        return value == Py_None || value == Py_False ? -1 : count + place->named;
    }

    /* Answers of the one dict of closed instances, each with the address in one word: addresses are even.
       Looking into the dict takes a tenth of a short validation. */
    #define LAZYENTITY_CLOSED 1024
    static uintptr_t lazyentity_closed[LAZYENTITY_CLOSED];

    static void lazyentity_forget_closed(void) { memset(lazyentity_closed, 0, sizeof(lazyentity_closed)); }

    /* Whether an instance needs no look into the value that its method gets; -1, if that is not known. */
    static int lazyentity_is_closed(lazyentity_place *place, PyObject *self)
    {
        uintptr_t address = (uintptr_t)self, *kept = &lazyentity_closed[(address >> 4) % LAZYENTITY_CLOSED];
        PyObject *number, *found;
        if ((*kept | 1) == (address | 1)) return *kept & 1;
        number = PyLong_FromVoidPtr(self);
        if (number == NULL) {
            PyErr_Clear();
            return -1;
        }
        found = PyDict_GetItemWithError(place->closed, number);
        Py_DECREF(number);
        if (found == NULL) return -1;
        *kept = address | (found == Py_True);
        return found == Py_True;
    }

    /* The version of a class, as CPython keeps it; 0, if it has none. */
    static unsigned int lazyentity_type_version(PyObject *kind)
    {
    #if PY_VERSION_HEX < 0x030D0000
        /* Later versions set the tag itself to 0. */
        if (!PyType_HasFeature((PyTypeObject *)kind, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
    #endif
        return ((PyTypeObject *)kind)->tp_version_tag;
    }

    /* Versions of classes whose check needs no hook: a class that changes gets another one. */
    #define LAZYENTITY_SETTLED 256
    static unsigned int lazyentity_settled_versions[LAZYENTITY_SETTLED];

    static void lazyentity_settle(unsigned int version)
    {
        lazyentity_settled_versions[version % LAZYENTITY_SETTLED] = version;
    }

    static int lazyentity_is_settled(PyObject *kind)
    {
        unsigned int version = lazyentity_type_version(kind);
        return version != 0 && lazyentity_settled_versions[version % LAZYENTITY_SETTLED] == version;
    }

    /* Whether pydantic-core checks a value before it makes a model of it: not for an instance that was made
       already. A dict has values alone. */
    static int lazyentity_is_checked(PyObject *value, PyObject *const *named, PyObject *names)
    {
        Py_ssize_t i;
        if (PyDict_CheckExact(value)) return 1;
        for (i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
            if (named[i] != Py_None && lazyentity_is_name(PyTuple_GET_ITEM(names, i), lazyentity_self_instance)) return 0;
        }
        return 1;
    }

    /* As lazyentity_idle, of a place for which a single argument counts. */
    static int lazyentity_idle_value(
        lazyentity_place *place, PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        PyObject *value;
        Py_ssize_t j;
        int is_closed;
        if (place->only >= count) return 0;
        value = items[place->only];
        if (lazyentity_is_scalar_value(value)) return 1;
        is_closed = place->closed == NULL ? 0 : lazyentity_is_closed(place, self);
        if (is_closed < 0) return 0;
        if (is_closed) {
            if (place->flags == NULL) return lazyentity_is_checked(value, items + count, names) ? 2 : 0;
            if (!lazyentity_any() && !PyIter_Check(value)) {
                if (names != NULL) lazyentity_find_names(place, names);
                for (j = 0; names != NULL && j < LAZYENTITY_FLAGS; j++) {
                    if (place->flagged[j] >= 0 && items[count + place->flagged[j]] == Py_True) goto look;
                }
                return 1;
            }
        }
    look:
        return lazyentity_settled(&value, 1, 1, place->is_flat);
    }

    /* As lazyentity_idle, of a place that asks for more than whether its arguments are settled. */
    static Py_NO_INLINE int lazyentity_idle_special(
        lazyentity_place *place, PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
        /* First: it is called for each value that becomes a model, and has no other condition. */
        if (place->is_check && count == 1) {
            PyTypeObject *type = Py_TYPE(items[0]);
            if (PyType_HasFeature(type, Py_TPFLAGS_DICT_SUBCLASS)) return type == &PyDict_Type;
            return !lazyentity_any() || lazyentity_is_settled(self);
        }
        if (place->always || lazyentity_has_function(place, self)) return 0;
        if (lazyentity_have_functions(place, items, count + named)) return 0;
        if (lazyentity_function_at(place, items, count, names) >= 0) return 0;
        if (place->only >= 0) return lazyentity_idle_value(place, self, items, count, names);
        return place->is_searched || lazyentity_settled(items, count + named, place->is_deep, place->is_flat);
    }

    /* Whether a call needs no hook, with a place's function for unknown values not among the arguments.
       2, if an argument that may hold entities was not looked into. */
    static inline int
    lazyentity_idle(int number, PyObject *self, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        lazyentity_place *place = &lazyentity_places[number];
        if (place->is_special) return lazyentity_idle_special(place, self, items, count, names);
        return lazyentity_settled(
            items, count + (names == NULL ? 0 : PyTuple_GET_SIZE(names)), place->is_deep, place->is_flat);
    }

    static int lazyentity_idle_call(int number, PyObject *self, PyObject *args, PyObject *kwargs)
    {
        lazyentity_place *place = &lazyentity_places[number];
        Py_ssize_t i = 0;
        PyObject *name, *value;
        int found;
        if (kwargs != NULL && (place->flags != NULL || place->closed != NULL || place->options != NULL)) return 0;
        found = lazyentity_idle(number, self, ((PyTupleObject *)args)->ob_item, PyTuple_GET_SIZE(args), NULL);
        if (!found || place->only >= 0) return found;
        while (kwargs != NULL && PyDict_Next(kwargs, &i, &name, &value)) {
            if (place->parameter != NULL && value != Py_None && lazyentity_is_parameter(place, name)) return 0;
            if (!place->is_searched && !lazyentity_settled(&value, 1, place->is_deep, place->is_flat)) return 0;
        }
        return 1;
    }

    /* Most calls have few arguments. */
    #define LAZYENTITY_FEW 8

    /* The function to hand on in place of a function for unknown values, a new reference: an
       instance of a place's class, whose slot has the original. */
    static PyObject *lazyentity_wrap(int number, PyObject *function)
    {
        PyTypeObject *type = (PyTypeObject *)lazyentity_places[number].wrap;
        PyObject *made;
        /* The library refuses an object that cannot be called. */
        if (!PyCallable_Check(function) || PyObject_TypeCheck(function, type)) return Py_NewRef(function);
        made = type->tp_alloc(type, 0);
        if (made != NULL)
            *(PyObject **)((char *)made + lazyentity_places[number].wrap_offset) = Py_NewRef(function);
        return made;
    }

    /* Copy the arguments of a call, its function for unknown values wrapped to decode the results,
       if nothing else needs the hook. Returns the wrapper, a new reference; NULL with an error, or
       without if there is none. */
    static PyObject *lazyentity_wrapped_within(
        int number, PyObject **given, PyObject *const *items, Py_ssize_t count, PyObject *names)
    {
        lazyentity_place *place = &lazyentity_places[number];
        Py_ssize_t at = lazyentity_function_at(place, items, count, names);
        Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
        if (at < 0 || all > LAZYENTITY_FEW || !lazyentity_settled(items, at, place->is_deep, place->is_flat)
            || !lazyentity_settled(items + at + 1, all - at - 1, place->is_deep, place->is_flat)) return NULL;
        memcpy(given, items, all * sizeof(PyObject *));
        return given[at] = lazyentity_wrap(number, items[at]);
    }

    static PyObject *lazyentity_or_null(PyObject *value) { return value == Py_None ? NULL : value; }

    /* The objects are kept by the caller. */
    static void lazyentity_set_when(
        int number, int always, int is_deep, int is_flat, int is_searched, PyObject *parameter, Py_ssize_t position,
        PyObject *wrap, Py_ssize_t wrap_offset, PyObject *attribute)
    {
        lazyentity_place *place = &lazyentity_places[number];
        place->always = always;
        place->is_deep = is_deep;
        place->is_flat = is_flat;
        place->is_searched = is_searched;
        place->parameter = lazyentity_or_null(parameter);
        place->position = position;
        place->wrap = lazyentity_or_null(wrap);
        place->wrap_offset = wrap_offset;
        place->attribute = lazyentity_or_null(attribute);
    }

    static void lazyentity_set_value(
        int number, Py_ssize_t only, PyObject *closed, PyObject *flags, int is_noted, int is_check)
    {
        lazyentity_place *place = &lazyentity_places[number];
        place->only = only;
        place->closed = lazyentity_or_null(closed);
        place->flags = lazyentity_or_null(flags);
        Py_CLEAR(place->names);
        place->is_noted = is_noted;
        place->is_check = is_check;
        place->is_special = place->always || place->is_searched || place->parameter != NULL
            || place->attribute != NULL || place->options != NULL || only >= 0 || is_check;
    }

    static void lazyentity_set_options(int number, PyObject *kind, PyObject *has_functions)
    {
        lazyentity_places[number].options = lazyentity_or_null(kind);
        lazyentity_places[number].has_functions = has_functions;
    }

    static void lazyentity_set_names(PyObject *notes, PyObject *self_instance)
    {
        Py_INCREF(notes);
        Py_INCREF(self_instance);
        lazyentity_notes = notes;
        lazyentity_self_instance = self_instance;
    }
    """
    const int PLACES "LAZYENTITY_PLACES"
    const int FLAGS "LAZYENTITY_FLAGS"
    ctypedef bint (*Settled)(PyObject* const* values, Py_ssize_t count, bint is_deep, bint is_flat) noexcept
    Settled settled "lazyentity_settled"
    ctypedef bint (*Any)() noexcept
    Any asks_any "lazyentity_any"
    void set_when "lazyentity_set_when"(
        int place, bint always, bint is_deep, bint is_flat, bint is_searched, object parameter, Py_ssize_t position,
        object wrap, Py_ssize_t wrap_offset, object attribute)
    object wrapped_function "lazyentity_wrap"(int place, object function)
    void set_value "lazyentity_set_value"(
        int place, Py_ssize_t only, object closed, object flags, bint is_noted, bint is_check)
    void set_options "lazyentity_set_options"(int place, object kind, object has_functions)
    void forget_answers "lazyentity_forget_closed"()
    unsigned int version_of "lazyentity_type_version"(object kind)
    void settle_version "lazyentity_settle"(unsigned int version)
    void set_names "lazyentity_set_names"(object notes, object self_instance)
    ctypedef void (*Refused)(int place) noexcept
    Refused refused "lazyentity_refused"
