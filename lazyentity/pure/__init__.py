"""The pure backend, the reference: the client's own messages, converted when they are read.

:mod:`~lazyentity.pure.mapping` has the lazy mapping, :mod:`~lazyentity.pure.entities` the results
of read responses, :mod:`~lazyentity.pure.writing` the encoder. Nothing here imports the native
backend, which leaves the values that it does not write itself to the encoder.
"""
