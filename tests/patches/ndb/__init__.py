"""google-cloud-ndb under the patch, against a server, gives stock ndb's results."""
