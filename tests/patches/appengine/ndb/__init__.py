"""Tests of lazy models of ``google.appengine.ext.ndb``."""
