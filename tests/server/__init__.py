"""Tests of the loopback Datastore server, through the stock client over a real socket."""
