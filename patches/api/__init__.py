"""The datastore_v1 API as every client library calls it: messages, requests and responses."""
