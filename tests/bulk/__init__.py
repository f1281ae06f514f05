"""Tests of bulk calls and of snapshots."""
