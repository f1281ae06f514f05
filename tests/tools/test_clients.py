"""The supported clients as setup.py and the documents show them."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lazyentity.patches.spec import is_supported
from tools import clients
from tools.clients import SupportedClient


@pytest.mark.parametrize(
    ("versions", "shown"),
    [
        (">=2.19,<2.28", "2.19 to 2.27"),
        (">=2.7,<2.8", "2.7"),
        (">=2.7, <2.8", "2.7"),
        (">=9,<10", "9 to below 10"),
        (">=2.16,<3", "2.16 to below 3"),
        (">=1.0,<3.0", "1.0 to below 3.0"),
    ],
)
def test_range(versions: str, shown: str) -> None:
    assert SupportedClient("toy", "toy-client", versions).range == shown


def test_requirements() -> None:
    """Only the required client has no upper bound."""
    assert SupportedClient("datastore", "store", ">=2.1, <3").requirement == "store>=2.1"
    assert SupportedClient("toy", "toy-client", ">=2.1, <3").requirement == "toy-client>=2.1,<3"
    with_extra = SupportedClient("toy", "toy-client", ">=2.1,<3", extra="more")
    assert with_extra.requirement == "toy-client[more]>=2.1,<3"


def test_the_lowest_requirements() -> None:
    """They are those that the distribution declares, each at its bound."""
    declared: dict[str, set[str]] = {}
    for requirement in map(Requirement, metadata.requires("lazyentity") or ()):
        extra = str(requirement.marker).split('"')[1] if requirement.marker else ""
        bounds = [each.version for each in requirement.specifier if each.operator == ">="]
        declared.setdefault(extra, set()).update(f"{requirement.name}=={each}" for each in bounds)
    for extra in ("", *clients.extras()):
        exact = [re.sub(r"\[\w+\]", "", requirement) for requirement in clients.lowest(extra)]
        assert set(exact) == declared[extra]


def test_a_client_with_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its extra is offered, and not installed beside the other clients' extras."""
    _write_clients(
        tmp_path, shared="", alone="OWN_ENVIRONMENT: Final = True", both="OWN_ENVIRONMENT = False"
    )
    monkeypatch.setattr(clients, "CHECKOUT", tmp_path)
    assert [*clients.extras()] == ["shared", "alone", "both"]
    assert clients.apart() == ["alone"]
    monkeypatch.setattr("sys.argv", ["clients.py", "extras"])
    clients.main()
    assert capsys.readouterr().out == "shared,both\n"
    monkeypatch.setattr("sys.argv", ["clients.py", "distributions"])
    clients.main()
    assert capsys.readouterr().out == "toy-shared\ntoy-both\n"
    monkeypatch.setattr("sys.argv", ["clients.py", "extra"])
    with pytest.raises(SystemExit, match="usage"):
        clients.main()


def test_a_version_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is tested where a client names it; it is within the supported range."""
    _write_clients(tmp_path, named='VERSION_BETWEEN: Final = "1.5"', other="")
    with monkeypatch.context() as patching:
        patching.setattr(clients, "CHECKOUT", tmp_path)
        assert [client.between for client in clients.clients()] == ["1.5", ""]
    real = [client for client in clients.clients() if client.between]
    assert {client.name for client in real} >= {"datastore", "ndb", "appengine", "beam"}
    assert all(is_supported(client.between, client.versions) for client in real)


def _write_clients(checkout: Path, **lines: str) -> None:
    """Write a list of clients, and modules of seams with a further line each."""
    (checkout / "patches").mkdir()
    (checkout / "patches" / "clients.py").write_text(
        f"ClientName: TypeAlias = Literal{list(lines)}\n"
    )
    for name, line in lines.items():
        constants = f"DISTRIBUTION = 'toy-{name}'\nSUPPORTED_VERSIONS = '>=1,<2'\n{line}\n"
        (checkout / "patches" / name).mkdir()
        (checkout / "patches" / name / "seams.py").write_text(constants)
