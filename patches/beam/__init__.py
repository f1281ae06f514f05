"""Apache Beam: its connector for Datastore."""
