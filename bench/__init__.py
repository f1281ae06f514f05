"""Benchmarks of lazyentity against stock google-cloud-datastore.

``python -m lazyentity bench`` measures, and ``python -m lazyentity demo`` shows the effect on three
lines of user code.

The idea of the microbenchmark, decoding in full against decoding lazily over a range of attribute
counts, is from the 2016 Google App Engine post on lazily decoded Datastore entities.
"""
