"""A native backend that was compiled from other sources is not tested."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest

from tests.support import compiled
from tools import environment


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of a checkout with one native module."""
    (tmp_path / "lazyentity").mkdir()
    (tmp_path / "lazyentity" / "module.pyx").write_text("def one(): return 1\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "building.py").touch()
    monkeypatch.setattr(environment, "CHECKOUT", tmp_path)
    monkeypatch.setattr(environment, "WHEELS", tmp_path / "wheels")
    found = tmp_path / "wheels" / str(sysconfig.get_config_var("SOABI")) / environment.RECORD
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps([str(tmp_path), "configuration", environment.native()]))
    return found


@pytest.mark.parametrize("name", ["module.pyx", "other.pxd"])
def test_sources_that_have_changed(record: Path, name: str) -> None:
    assert compiled.problem() is None
    (environment.CHECKOUT / "lazyentity" / name).write_text("def one(): return 2\n")
    with pytest.raises(pytest.UsageError, match="make venv"):
        compiled.pytest_configure()
    record.unlink()
    compiled.pytest_configure()
