"""A native backend that was compiled from other sources is not tested."""

from __future__ import annotations

import json
import os
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
    (tmp_path / "setup.py").touch()
    monkeypatch.setattr(environment, "CHECKOUT", tmp_path)
    monkeypatch.setattr(environment, "WHEELS", tmp_path / "wheels")
    found = tmp_path / "wheels" / str(sysconfig.get_config_var("SOABI")) / environment.RECORD
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps([str(tmp_path), "configuration", environment.native()]))
    return found


@pytest.mark.parametrize(
    "name", ["lazyentity/module.pyx", "lazyentity/other.pxd", "setup.py", "tools/building.py"]
)
def test_sources_that_have_changed(record: Path, name: str) -> None:
    assert compiled.problem() is None
    (environment.CHECKOUT / name).write_text("def one(): return 2\n")
    with pytest.raises(pytest.UsageError, match="make venv"):
        compiled.pytest_configure()
    record.unlink()
    compiled.pytest_configure()


def test_modules_that_make_did_not_compile(record: Path) -> None:
    """Sources that are newer than these have changed."""
    record.unlink()
    module = environment.CHECKOUT / "lazyentity" / f"module{sysconfig.get_config_var('EXT_SUFFIX')}"
    module.touch()
    sources = environment.native_sources()
    for source in sources:
        os.utime(source, (1, 1))
    assert compiled.problem() is None
    for source in sources:
        os.utime(source, (module.stat().st_mtime + 1, module.stat().st_mtime + 1))
        assert compiled.problem() is not None
        os.utime(source, (1, 1))
