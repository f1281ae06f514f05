"""The pure backend, on the parser of the installed protobuf.

A module here and the module of the same name in :mod:`lazyentity.native` do the same. The native
backend has three more, whose twins are in :mod:`lazyentity.codec`, where both backends use them:
``values``, ``timestamps`` and ``undecoded``. Nothing here imports the native backend. The native
backend imports this one's encoder, for the values that it does not write itself.
"""
