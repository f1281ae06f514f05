"""Shared by the tests of the clients that have models: both libraries named ndb, and ext.db.

Each client has a separate environment, and passes its modules: nothing here imports one.
"""
