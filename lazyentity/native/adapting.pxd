# How many lazy mappings are alive: LazyMapping and CountedDict count themselves.

cdef Py_ssize_t live
