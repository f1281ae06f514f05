"""The doctor on Firestore, which needs no server."""

from __future__ import annotations

from importlib import metadata

from lazyentity.cli.doctor.clients import findings
from lazyentity.patches.firestore.seams import CLIENT, DISTRIBUTION


def test_doctor() -> None:
    """It names the version, and each attribute that would be replaced."""
    (told,) = [each for each in findings(False, ()) if each.subject == CLIENT.name]
    assert f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}" in told.text
    assert len(told.details) == len(CLIENT.seams)
    assert "google.cloud.firestore_v1.base_document:DocumentSnapshot.to_dict" in told.details
