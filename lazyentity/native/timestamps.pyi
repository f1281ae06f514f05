# No names for Python: the other modules of the native backend call it from C.
