"""Helpers of the tests: no test is in here."""
