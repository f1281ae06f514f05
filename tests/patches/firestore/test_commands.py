"""The commands know the client."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from lazyentity.patches.firestore.seams import CLIENT, DISTRIBUTION
from tests.patches.firestore.server import DocumentServer

_PROGRAM = """
import os
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
client = firestore.Client(project="p", credentials=AnonymousCredentials())
print(["_data" in vars(each) for each in client.collection("things").stream()])
"""


def _output(*command: str, port: int = 0) -> str:
    environment = {"FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{port}", "PATH": ""}
    done = subprocess.run(  # this interpreter
        [sys.executable, "-m", "lazyentity", *command],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=120,
    )
    return done.stdout


def test_run(server: DocumentServer, tmp_path: Path) -> None:
    """A program that knows nothing of lazyentity reads lazily."""
    server.put("things/1", {"a": 1})
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    assert _output("run", str(program), port=server.port).strip() == "[False]"


def test_doctor() -> None:
    """It names the version, and each attribute that would be replaced."""
    findings = json.loads(_output("doctor", "--json"))["findings"]
    (told,) = [each for each in findings if each["subject"] == CLIENT.name]
    assert f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}" in told["text"]
    assert len(told["details"]) == len(CLIENT.seams)
    assert "google.cloud.firestore_v1.base_document:DocumentSnapshot.to_dict" in told["details"]
