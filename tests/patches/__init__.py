"""Tests of patch() and unpatch(): their times, replacements and orders."""
