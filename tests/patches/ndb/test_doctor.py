"""The doctor names the model classes of an application that are not lazy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.forks import answer

_APPLICATION = """
import lazyentity.auto
from google.cloud import ndb

class Part(ndb.Model):
    text = ndb.StringProperty()

class Fine(ndb.Model):
    part = ndb.StructuredProperty(Part)
    parts = ndb.StructuredProperty(Part, repeated=True)
    number = ndb.IntegerProperty(default=3)

class FineExpando(ndb.Expando):
    part = ndb.StructuredProperty(Part)

class Storing(ndb.StringProperty):
    def _store_value(self, entity, value):
        super()._store_value(entity, value)

class Overriding(ndb.Model):
    stored = Storing("s")

class Defaulted(ndb.Model):
    part = ndb.StructuredProperty(Part, default=Part(text="a"))

class Built(ndb.Expando):
    def __init__(self, **values):
        super().__init__(**values)

class Setting(ndb.Expando):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
"""
_PROGRAM = """
import contextlib, io, json
from lazyentity.cli import dispatch
with contextlib.redirect_stdout(io.StringIO()) as out:
    status = dispatch.main(["doctor", "--json", *{options}])
ANSWER = [status, json.loads(out.getvalue())["findings"]]
"""


@pytest.fixture
def application(tmp_path: Path) -> Path:
    (tmp_path / "slow_models.py").write_text(_APPLICATION)
    return tmp_path


def _notes(application: Path, options: list[str]) -> Any:
    program = f"import sys; sys.path.insert(0, {str(application)!r})" + _PROGRAM.format(
        options=options
    )
    status, findings = answer("-c", program + "\nprint(json.dumps(ANSWER))")
    assert status == 0
    return {
        one["text"]: one["level"]
        for one in findings
        if one["subject"] == "ndb" and "may not be lazy" in one["text"]
    }


def test_models_that_ndb_makes(application: Path) -> None:
    beginning = "may not be lazy, because ndb itself makes them"
    assert _notes(application, ["--app", "slow_models"]) == {
        f"models of 'Built' {beginning}: the class of an Expando has a constructor of its own": (
            "note"
        ),
        f"models of 'Defaulted' {beginning}: 'part' has a default, which gets the parts": "note",
        f"models of 'Overriding' {beginning}: the class of 's' overrides how a value is stored": (
            "note"
        ),
        f"models of 'Setting' {beginning}: the class overrides how an Expando makes properties": (
            "note"
        ),
    }


def test_without_an_application(application: Path) -> None:
    assert _notes(application, []) == {}
