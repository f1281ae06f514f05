"""Tests of patched clients of google-cloud-datastore."""
