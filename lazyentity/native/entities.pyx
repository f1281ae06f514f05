# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, auto_pickle=False
"""The native backend's reader of Datastore's entities: one extension, of the files that are included.

As one extension they share Cython's own code, and call each other directly.
"""

include "shapes.pyx"
include "values.pyx"
include "eager.pyx"
include "mapping.pyx"
include "columns.pyx"
include "responses.pyx"
include "jsontypes.pyx"
