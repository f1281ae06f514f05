# The frames of the Python code that runs, and a clock: CPython's own functions, by pointers.

from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <frameobject.h>

    #ifdef _WIN32
    #include <windows.h>
    static double lazyentity_seconds(void) {
        return GetTickCount64() / 1e3;
    }
    #else
    #include <time.h>
    static double lazyentity_seconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec + now.tv_nsec / 1e9;
    }
    #endif

    /* NULL, if no Python code runs. */
    static PyObject *lazyentity_frame(void) {
        return (PyObject *)PyEval_GetFrame();
    }

    /* NULL, if there is none. */
    static PyObject *lazyentity_caller(PyObject *frame) {
        return (PyObject *)PyFrame_GetBack((PyFrameObject *)frame);
    }

    static PyObject *lazyentity_code(PyObject *frame) {
        return (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    }

    static PyObject *lazyentity_file(PyObject *code) {
        return ((PyCodeObject *)code)->co_filename;
    }

    static int lazyentity_instruction(PyObject *frame) {
    #if PY_VERSION_HEX >= 0x030B0000
        return PyFrame_GetLasti((PyFrameObject *)frame);
    #else
        return ((PyFrameObject *)frame)->f_lasti;
    #endif
    }
    """
    double clock "lazyentity_seconds"()
    PyObject* running_frame "lazyentity_frame"()
    PyObject* caller_of "lazyentity_caller"(PyObject* frame)
    PyObject* code_of "lazyentity_code"(PyObject* frame)
    PyObject* file_of "lazyentity_file"(PyObject* code)
    int instruction_of "lazyentity_instruction"(PyObject* frame)
    # Of pointers, where cpython.ref and cpython.dict take objects.
    void incref "Py_INCREF"(PyObject* object)
    void decref "Py_DECREF"(PyObject* object)
    void xdecref "Py_XDECREF"(PyObject* object)
    PyObject* item_at "PyDict_GetItemWithError"(PyObject* mapping, PyObject* key) except? NULL
