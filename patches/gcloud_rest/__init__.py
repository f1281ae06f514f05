"""gcloud-rest-datastore."""
