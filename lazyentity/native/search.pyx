"""The native backend's walk through values to the entities in them.

:mod:`lazyentity.search` documents it.
"""

from cpython.dict cimport PyDict_Check, PyDict_Next
from cpython.object cimport PyObject


from lazyentity.profiling.observer import STORAGE, VALIDATION

cdef extern from *:
    """
    static int lazyentity_is_container(PyObject *value) {
        PyTypeObject *type = Py_TYPE(value);
        return type == &PyDict_Type || type == &PyList_Type || type == &PyTuple_Type;
    }

    static PyObject *lazyentity_read_slot(PyObject *slot, PyObject *value) {
        return Py_TYPE(slot)->tp_descr_get(slot, value, (PyObject *)Py_TYPE(value));
    }

    /* Where in an instance a slot is; -1 for one that holds no object. */
    static Py_ssize_t lazyentity_offset(PyObject *slot) {
        PyMemberDef *member;
        if (Py_TYPE(slot) != &PyMemberDescr_Type) return -1;
        member = ((PyMemberDescrObject *)slot)->d_member;
        return member->type == T_OBJECT || member->type == T_OBJECT_EX ? member->offset : -1;
    }

    static PyObject *lazyentity_at(PyObject *value, Py_ssize_t offset) {
        return *(PyObject **)((char *)value + offset);
    }

    /* Such a type has the hash and comparison of objects, which run no Python code. */
    static int lazyentity_is_of_type(PyObject *type) {
        return Py_TYPE(type) == &PyType_Type;
    }
    """
    bint is_scalar "lazyentity_is_scalar"(PyObject *value)
    bint is_container "lazyentity_is_container"(PyObject *value)
    object read_slot "lazyentity_read_slot"(object slot, object value)
    Py_ssize_t offset_of "lazyentity_offset"(object slot)
    PyObject *at "lazyentity_at"(object value, Py_ssize_t offset)
    object PyObject_GenericGetDict(object value, void *unused)
    bint is_of_type "lazyentity_is_of_type"(object kind)


cdef class EntityFinder:
    """Walks through values.

    Args:
        leaves: the set of types of values that hold no entity.
        slots_of: takes a type; returns readers of its slots, None if it is no record.
        is_model: takes a type; says whether pydantic takes its instances for valid models.
        items_of: takes an object; returns a list of its items, None if it is no container.
        children_of: takes an object that is neither a container nor a record; returns the values in it.
        forgetting: takes a type and a dict; returns a reference for the dict's entry of the type, which
            goes with the type.
    """

    cdef set leaves
    cdef object slots_of
    cdef object is_model
    cdef object items_of
    cdef object children_of
    cdef object forgetting
    cdef dict records  # by the id of a type: a reference, and offsets of slots or readers

    def __init__(self, set leaves, slots_of, is_model, items_of, children_of, forgetting):
        self.leaves = leaves
        self.slots_of = slots_of
        self.is_model = is_model
        self.items_of = items_of
        self.children_of = children_of
        self.forgetting = forgetting
        self.records = {}

    cdef bint _is_leaf(self, PyObject *value) except -1:
        cdef object kind
        if is_scalar(value):
            return True
        if is_container(value):
            # Most containers inside of containers hold scalars.
            return holds_scalars(value, 1)
        kind = type(<object>value)
        return is_of_type(kind) and kind in self.leaves

    cdef bint _push_dict(self, object value, list stack) except -1:
        """Push the values in the storage of a dict; return whether a sentinel is among them."""
        cdef PyObject *held
        cdef Py_ssize_t position = 0
        cdef bint has_undecoded = False
        # Nothing in here runs Python code, which could change the dict.
        while PyDict_Next(value, &position, NULL, &held):
            if held is _undecoded:
                has_undecoded = True
            elif not self._is_leaf(held):
                stack.append(<object>held)
        return has_undecoded

    cdef int _push_sequence(self, object value, list stack) except -1:
        for held in value:
            if not self._is_leaf(<PyObject *>held):
                stack.append(held)

    cdef int _push_record(self, object value, tuple slots, list stack) except -1:
        if type(value).__dictoffset__:
            self._push_dict(PyObject_GenericGetDict(value, NULL), stack)
        cdef PyObject *found
        for slot in slots:
            if type(slot) is int:
                found = at(value, slot)
                if found is NULL:
                    # The slot was not assigned.
                    continue
                held = <object>found
            else:
                try:
                    held = read_slot(slot, value)
                except AttributeError:
                    continue
            if not self._is_leaf(<PyObject *>held):
                stack.append(held)

    cdef object _record(self, kind):
        # By id: a metaclass may define __eq__ in any way, and so make classes that have no hash.
        number = <Py_ssize_t><PyObject *>kind
        kept = self.records.get(number)
        if kept is not None:
            return (<tuple>kept)[1]
        slots = self.slots_of(kind)
        if slots is not None:
            # The descriptor of a slot would keep the class alive.
            slots = tuple([_located(slot) for slot in slots])
        self.records[number] = (self.forgetting(kind, self.records), slots)
        return slots

    def is_plain(self, value):
        """As :func:`lazyentity.search.is_plain`."""
        cdef PyObject *held
        cdef Py_ssize_t position = 0
        if type(value) is dict:
            while PyDict_Next(value, &position, NULL, &held):
                if not self._is_leaf(held):
                    return False
            return True
        return self._is_leaf(<PyObject *>value)

    def decode(self, value, bint validating=False, int levels=3):
        """As :func:`lazyentity.search.decode_in_place`."""
        cdef list stack
        cdef list objects
        cdef list models = [] if validating else None
        cdef dict seen
        cdef bint found = False
        cdef int level
        if self._is_leaf(<PyObject *>value):
            return False
        stack = [value]
        objects = []
        seen = {}
        for level in range(levels + 1):
            if self._containers(stack, objects, seen, models):
                found = True
            if models:
                # Once: the fields of models are searched, models inside models are not.
                for model in models:
                    self._push_record(model, self._record(type(model)), stack)
                models = []
                if self._containers(stack, objects, seen, []):
                    found = True
            if not objects or level == levels:
                break
            stack = [held for each in objects for held in self.children_of(each)]
            objects = []
        return found

    cdef bint _containers(self, list stack, list objects, dict seen, list models) except -1:
        cdef Py_ssize_t before
        cdef bint found = False
        while stack:
            value = stack.pop()
            if self._is_leaf(<PyObject *>value):
                continue
            before = len(stack)
            if type(value) is dict:
                self._push_dict(value, stack)
            elif type(value) is list or type(value) is tuple:
                self._push_sequence(value, stack)
            # By the type: an object may pass for one of another class.
            elif PyDict_Check(value):
                has_undecoded = self._push_dict(value, stack)
                if hasattr(type(value), "_decode_all"):
                    found = True
                    if has_undecoded:
                        del stack[before:]
                        value._decode_all(STORAGE if models is None else VALIDATION)
                        self._push_dict(value, stack)
            else:
                slots = self._record(type(value))
                if slots is not None:
                    if models is not None and self.is_model(type(value)):
                        if id(value) not in seen:
                            seen[id(value)] = value
                            models.append(value)
                        continue
                    self._push_record(value, slots, stack)
                elif (items := self.items_of(value)) is not None:
                    self._push_sequence(items, stack)
                else:
                    if id(value) not in seen:
                        seen[id(value)] = value
                        objects.append(value)
                    continue
            if len(stack) != before:
                if id(value) in seen:
                    del stack[before:]
                else:
                    seen[id(value)] = value
        return found


cdef object _located(slot):
    """Return the offset of a slot of objects; anything else as it is."""
    cdef Py_ssize_t offset = -1
    if hasattr(slot, "descriptor"):
        try:
            offset = offset_of(slot.descriptor())
        except AttributeError:
            pass
    return slot if offset < 0 else offset
