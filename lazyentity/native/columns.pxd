# The rows that columns are made of: see columns.pyx.


cdef object row_of(type lazy_type, bytes response, Py_ssize_t start, Py_ssize_t end)
