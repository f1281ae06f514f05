"""Tests of requests, responses and transports of the datastore_v1 API."""
