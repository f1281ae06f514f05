"""The native backend, compiled; :mod:`lazyentity.pure` names the twin of each module.

Importing this package imports none of the modules: they import google-cloud-datastore.
"""
