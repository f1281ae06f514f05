"""Shared by the tests of the clients that have models: both libraries named ndb, and ext.db.

Each client has an environment of its own, and passes its modules: nothing here imports one.
"""
