"""Tests of the bytes of entities: each encoding, and bytes that are malformed."""
