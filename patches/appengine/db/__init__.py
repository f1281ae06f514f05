"""google.appengine.ext.db: models whose attributes are made when they are read."""
