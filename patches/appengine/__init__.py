"""The patches of appengine-python-standard: ``google.appengine``'s clients of Datastore."""
