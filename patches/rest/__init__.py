"""The REST API of Datastore, as the clients call it that convert its JSON themselves."""
