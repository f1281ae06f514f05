# cython: language_level=3, boundscheck=False, wraparound=False, binding=False, auto_pickle=False
"""The native parts that adapters call: one extension, of the files that are included.

They import no client, which the other extensions do: see :func:`lazyentity._choice.without_client`.
"""

include "alive.pyx"
include "search.pyx"
include "inplace.pyx"
include "items.pyx"
include "types.pyx"
