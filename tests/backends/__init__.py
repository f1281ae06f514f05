"""Promises of the native backend alone. Without it these tests fail; they do not skip."""
