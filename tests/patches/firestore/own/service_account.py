"""A pytest plugin that makes a file which firebase-admin's source distribution lacks.

Its tests read the credentials of a service account from it, and never send them.
"""

from __future__ import annotations

import importlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


def pytest_configure(config: pytest.Config) -> None:
    """Write the file, and have the tests look for it there."""
    folder = Path(tempfile.mkdtemp())
    config.add_cleanup(lambda: shutil.rmtree(folder))
    (folder / "service_account.json").write_text(json.dumps(_account()))
    utilities: Any = importlib.import_module("tests.testutils")
    utilities.resource_filename = lambda name: str(folder / name)


def _account() -> dict[str, str]:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        # The tests expect this name.
        "project_id": "mock-project-id",
        "private_key_id": "key",
        "private_key": private.decode(),
        "client_email": "account@mock-project-id.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    }
