"""google-cloud-ndb under the patch, against a server: what it gives is what stock ndb gives."""
