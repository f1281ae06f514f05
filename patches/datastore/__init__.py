"""google-cloud-datastore."""
