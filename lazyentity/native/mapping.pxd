# What other parts of the native backend need of the mapping: see mapping.pyx.

cdef object mapping_from_raw(type mapping_type, bytes raw)
