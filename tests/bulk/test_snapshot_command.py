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
from tests.bulk.refreshing import change
from tests.bulk.services import Served, connected, stored

pytestmark = pytest.mark.any_backend

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


def test_save_refresh_info_and_verify(client: datastore.Client, tmp_path: Path) -> None:
    keys = stored(client, "Order", 3)
    file = tmp_path / "orders"
    saved = _run("save", file, *_whole("Order"))
    assert saved.exit_code == 0, saved.output
    assert saved.output == f"{file}: 3 added, 0 changed, 0 unchanged, 0 removed\n"
    assert Snapshot(file)[keys[1]]["number"] == 1

    client.delete(keys[0])
    refreshed = _run("refresh", file)
    assert refreshed.output == f"{file}: 0 added, 0 changed, 2 unchanged, 1 removed\n"
    replaced = _run("refresh", file, *_whole("Order"), "--replace")
    assert replaced.output == f"{file}: 2 added, 0 changed, 0 unchanged, 2 removed\n"

    shown = _run("info", file)
    assert shown.exit_code == 0, shown.output
    for text in ("entities", "2", "schema version", f"project {_PROJECT}, kind Order"):
        assert text in shown.output
    assert _run("verify", file).output == f"{file} is sound\n"


def test_a_kind_without_entities(client: datastore.Client, tmp_path: Path) -> None:
    """Its name may be misspelt: nothing is saved. A kind may lose all of its entities later."""
    keys = stored(client, "Rare", 1)
    file = tmp_path / "orders"
    refused = _run("save", file, *_whole("Raer"))
    assert refused.exit_code == 1
    assert refused.output == f"Error: there is no entity of kind 'Raer'; {file} was not made\n"
    assert not file.exists()

    assert _run("save", file, *_whole("Rare")).exit_code == 0
    client.delete_multi(keys)
    refused = _run("refresh", file)
    assert refused.exit_code == 1
    assert "the query gave no entity" in " ".join(refused.output.split())
    assert len(Snapshot(file)) == 1
    refreshed = _run("refresh", file, "--allow-empty")
    assert refreshed.output == f"{file}: 0 added, 0 changed, 0 unchanged, 1 removed\n"


def test_saving_that_failed(client: datastore.Client, running: Served, tmp_path: Path) -> None:
    """The file that is left is refreshed."""
    stored(client, "Late", 2)
    file = tmp_path / "late"
    options = _whole("Late")
    running.service.refuse(grpc.StatusCode.PERMISSION_DENIED, 1, "RunQuery")
    failed = _run("save", file, *options)
    assert failed.exit_code == 1
    assert "refused with PERMISSION_DENIED" in failed.output
    unready = _run("refresh", file)
    assert unready.exit_code == 1
    assert "its first refresh has not ended" in " ".join(unready.output.split())
    refreshed = _run("refresh", file, *options)
    assert refreshed.output == f"{file}: 2 added, 0 changed, 0 unchanged, 0 removed\n"


def test_servers_that_cannot_count(
    client: datastore.Client, running: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The count moves the progress bar, and nothing else."""
    keys = stored(client, "Counted", 2)
    file = tmp_path / "counted"
    options = _whole("Counted")
    caplog.set_level("DEBUG", "lazyentity.snapshot")
    running.service.refuse(grpc.StatusCode.UNIMPLEMENTED, 1, "RunAggregationQuery")
    saved = _run("save", file, *options)
    assert saved.output == f"{file}: 2 added, 0 changed, 0 unchanged, 0 removed\n"
    assert "the entities of kind Counted cannot be counted" in caplog.text
    running.service.refuse(grpc.StatusCode.PERMISSION_DENIED, 1, "RunAggregationQuery")
    refreshed = _run("refresh", file)
    assert refreshed.output == f"{file}: 0 added, 0 changed, 2 unchanged, 0 removed\n"

    client.delete_multi(keys)
    other = tmp_path / "other"
    running.service.refuse(grpc.StatusCode.UNIMPLEMENTED, 1, "RunAggregationQuery")
    refused = _run("save", other, *options)
    assert refused.output == f"Error: there is no entity of kind 'Counted'; {other} was not made\n"
    assert not other.exists()


def test_an_error_that_is_not_about_counting(
    client: datastore.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    stored(client, "Counted", 2)
    monkeypatch.setattr(datastore.Client, "aggregation_query", broken)
    failed = _run("save", tmp_path / "counted", *_whole("Counted"))
    assert isinstance(failed.exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("damage", "text", "removed"),
    [
        # All is verified, though nobody knows how much it is.
        (
            "DELETE FROM settings WHERE name = 'entities'",
            "setting 'entities' is missing or damaged",
            0,
        ),
        (
            "UPDATE contents SET data = 'x' WHERE number = 2",
            "<Key('Damaged', 2), project=the-project> is damaged",
            3,
        ),
    ],
    ids=["setting", "content"],
)
def test_damage_is_named(
    client: datastore.Client, tmp_path: Path, damage: str, text: str, removed: int
) -> None:
    stored(client, "Damaged", 3)
    file = tmp_path / "damaged"
    _run("save", file, *_whole("Damaged"))
    change(file, damage)
    verified = _run("verify", file)
    assert verified.exit_code == 1
    assert text in verified.output
    assert "has 1 damages" in verified.output
    replaced = _run("refresh", file, *_whole("Damaged"), "--replace")
    assert replaced.output == f"{file}: 3 added, 0 changed, 0 unchanged, {removed} removed\n"
    assert _run("verify", file).output == f"{file} is sound\n"


def test_refused_arguments(client: datastore.Client, tmp_path: Path) -> None:
    missing, foreign, entities = tmp_path / "missing", tmp_path / "foreign", tmp_path / "entities"
    foreign.write_text("a text that is no database")
    Snapshot(entities).refresh([], allow_empty=True)
    for arguments, status, text in (
        (("save", missing, "--project", _PROJECT), 2, "--kind is missing"),
        (("save", missing, "--kind", "", "--project", _PROJECT), 2, "'--kind': it is empty"),
        (("save", missing, "--kind", "Order", "--project", ""), 2, "'--project': it is empty"),
        (("save", foreign, "--kind", "Order"), 2, "is there already"),
        (("refresh", missing), 1, "there is no snapshot"),
        (("refresh", missing, "--kind", "Order"), 2, "there is no snapshot"),
        (("refresh", entities), 2, "does not hold a whole kind"),
        (("info", foreign), 1, "not a SQLite database"),
        (("verify", missing), 1, "there is no snapshot"),
    ):
        ended = _run(*arguments)
        assert ended.exit_code == status, ended.output
        assert text in " ".join(ended.output.split())
    assert "entities" in _run("info", entities).output
