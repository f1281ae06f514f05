"""``python -m lazyentity.snapshot``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from click.testing import CliRunner, Result
from google.cloud import datastore

from lazyentity.snapshot import Snapshot
from lazyentity.snapshot.command import main
from tests.bulk.services import Served, connected, stored
from tests.snapshot.states import change

_PROJECT = "the-project"


@pytest.fixture
def client(running: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[datastore.Client]:
    """A client of the service that the command finds in the environment."""
    running.service.forget()
    monkeypatch.setenv("DATASTORE_EMULATOR_HOST", f"127.0.0.1:{running.ports['grpc']}")
    with connected(running, project=_PROJECT) as made:
        yield made


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def _whole(kind: str) -> tuple[str, ...]:
    return "--kind", kind, "--project", _PROJECT


def test_save_info_and_verify(client: datastore.Client, tmp_path: Path) -> None:
    keys = stored(client, "Order", 3)
    file = tmp_path / "orders"
    saved = _run("save", file, *_whole("Order"))
    assert saved.exit_code == 0, saved.output
    assert saved.output == f"{file}: 3 entities\n"
    assert Snapshot(file)[keys[1]]["number"] == 1
    client.delete(keys[0])
    assert _run("save", file, *_whole("Order")).output == f"{file}: 2 entities\n"
    shown = _run("info", file)
    assert shown.exit_code == 0, shown.output
    for text in ("entities", "2", "refreshed", f"project {_PROJECT}, kind Order"):
        assert text in shown.output
    assert _run("verify", file).output == f"{file} is sound\n"


def test_a_kind_without_entities(client: datastore.Client, tmp_path: Path) -> None:
    """Its name may be misspelt: nothing is saved."""
    file = tmp_path / "orders"
    refused = _run("save", file, *_whole("Raer"))
    assert refused.exit_code == 1
    assert "the query gave no entity" in refused.output
    assert not file.exists()
    assert _run("save", file, *_whole("Raer"), "--allow-empty").output == f"{file}: 0 entities\n"


def test_saving_that_failed(client: datastore.Client, running: Served, tmp_path: Path) -> None:
    """It leaves nothing; the next one is not hindered."""
    stored(client, "Late", 2)
    file = tmp_path / "late"
    running.service.refuse(grpc.StatusCode.PERMISSION_DENIED, 1, "RunQuery")
    failed = _run("save", file, *_whole("Late"))
    assert failed.exit_code == 1
    assert "refused with PERMISSION_DENIED" in failed.output
    assert list(tmp_path.iterdir()) == []
    assert _run("save", file, *_whole("Late")).output == f"{file}: 2 entities\n"


def test_damage_is_named(client: datastore.Client, tmp_path: Path) -> None:
    stored(client, "Damaged", 3)
    file = tmp_path / "damaged"
    _run("save", file, *_whole("Damaged"))
    change(file, "UPDATE contents SET data = 'x' WHERE number = 2")
    verified = _run("verify", file)
    assert verified.exit_code == 1
    assert "<Key('Damaged', 2), project=the-project> is damaged" in verified.output
    assert "has 1 damages" in verified.output
    assert _run("save", file, *_whole("Damaged")).exit_code == 0
    assert _run("verify", file).output == f"{file} is sound\n"


def test_refused_arguments(client: datastore.Client, tmp_path: Path) -> None:
    stored(client, "Order", 1)
    missing, foreign = tmp_path / "missing", tmp_path / "foreign"
    foreign.write_text("a text that is no database")
    for arguments, status, text in (
        (("save", missing, "--project", _PROJECT), 2, "Missing option '--kind'"),
        (("save", missing, "--kind", "", "--project", _PROJECT), 2, "'--kind': it is empty"),
        (("save", missing, "--kind", "Order", "--project", ""), 2, "'--project': it is empty"),
        (("save", tmp_path / "no" / "folder", *_whole("Order")), 1, "No such file"),
        (("save", foreign, *_whole("Order")), 1, "is not a snapshot"),
        (("info", foreign), 1, "is not a snapshot"),
        (("verify", missing), 1, "there is no snapshot"),
    ):
        ended = _run(*arguments)
        assert ended.exit_code == status, ended.output
        assert text in " ".join(ended.output.split())
    assert foreign.read_text() == "a text that is no database"
