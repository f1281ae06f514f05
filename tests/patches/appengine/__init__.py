"""Tests of the patches of appengine-python-standard."""
