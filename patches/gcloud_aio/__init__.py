"""gcloud-aio-datastore."""
