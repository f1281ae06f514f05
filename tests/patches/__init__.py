"""Tests of patch() and unpatch(): when they act, what they replace, and in which order."""
