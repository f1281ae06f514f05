"""``google.appengine.ext.ndb``."""
