"""Tests of lazy entities against the entities that the stock client makes of the same bytes."""
