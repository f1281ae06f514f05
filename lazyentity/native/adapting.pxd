# How many lazy mappings are alive: WireDict and CountedDict count themselves.

cdef Py_ssize_t live
