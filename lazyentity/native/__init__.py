"""The native backend, compiled.

Importing this package imports none of the modules: they import google-cloud-datastore.
"""
