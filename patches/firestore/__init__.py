"""google-cloud-firestore, in native mode."""
