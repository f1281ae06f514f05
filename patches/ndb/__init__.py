"""google-cloud-ndb."""
