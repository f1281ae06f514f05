"""A client is a description in the list: a toy one is patched as the supported ones are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.spec import is_supported
from tests.support.forks import answer

_PROGRAM = """
import json, logging, sys, warnings
import lazyentity
from lazyentity.patches.spec import ClientSpec
from lazyentity.patches.guard import Guard
from lazyentity.patches.clients import CLIENTS, register
from lazyentity.patches.registry import Seam, replacing

def replace(original, is_active):
    return lambda: f"lazy {original()}" if is_active() else original()

def toy(name="toy", **options):
    READ = Seam(f"{name}client", "read", replace)
    described = dict(
        name=name, distribution=f"{name}-client", supported=">=1.2,<1.4",
        waits_for_import=f"{name}client", seams=[READ], conversion=READ, guard=Guard([READ]),
    )
    client = ClientSpec(**{**described, **options})
    register(client)
    return client

def caught(act):
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in all_of_them if "lazyentity" in str(one.message)]

def refusals(*names):
    try:
        lazyentity.patch(*names, strict=True)
    except RuntimeError as error:
        return str(error)

def say(**state):
    print(json.dumps({**state, "patched": lazyentity.patched()}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two installed clients, the second of which calls the first."""
    _install(tmp_path, "toy", "def read():\n    return 'stock'\n")
    _install(tmp_path, "tall", "import toyclient\ndef read():\n    return toyclient.read()\n")
    return tmp_path


def _install(folder: Path, name: str, source: str, version: str = "1.3") -> None:
    package = folder / f"{name}client"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(source)
    (package / "version.py").write_text(f"__version__ = {version!r}\n")
    metadata = folder / f"{name}_client-{version}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}-client\nVersion: {version}\n"
    )


def ask(folder: Path, body: str) -> Any:
    """Run ``body`` in a fresh interpreter; return what it passed to ``say()``, and the state."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return answer("-c", _PROGRAM + body, PYTHONPATH=path)


def test_is_imported_when_that_is_strict(folder: Path) -> None:
    state = ask(
        folder,
        'toy()\nlazyentity.patch("toy", strict=True)\nsay(read=sys.modules["toyclient"].read())',
    )
    assert state == {"read": "lazy stock", "patched": ["toy"]}


@pytest.mark.parametrize("name", CLIENTS)
def test_declared_versions(name: str) -> None:
    """The lowest one is supported, the first beyond is not, and neither are its candidates."""
    supported = CLIENTS[name].supported
    lowest, beyond = (part.lstrip("<>=") for part in supported.split(","))
    assert is_supported(lowest, supported)
    assert is_supported(f"{lowest}.post1", supported)
    for other in (beyond, f"{beyond}rc1", "0.0.1"):
        assert not is_supported(other, supported)


def test_one_that_is_not_installed(folder: Path) -> None:
    """That is news only to who asks for it by name."""
    state = ask(
        folder,
        """
toy("none")
everything = caught(lazyentity.patch)
named = caught(lambda: [lazyentity.patch("none") for _ in range(3)])
refused = refusals("none")
lazyentity.unpatch("none")
lazyentity.unpatch()
say(all=everything, named=named, refused=refused, strict=refusals())
""",
    )
    assert state["all"] == []
    assert state["strict"] is None
    assert "none-client is not installed" in state["refused"]
    (warned,) = state["named"]
    assert "none-client is not installed" in warned
    assert "none" not in state["patched"]


def test_one_that_is_built_on_another(folder: Path) -> None:
    """It is patched if the other one could be, which is named and not patched with it."""
    state = ask(
        folder,
        """
toy()
toy("tall", over=["toy"])
lazyentity.patch("tall")
import tallclient
read = tallclient.read()
del sys.modules["toyclient"].read
toy("third", over=["tall"], waits_for_import="tallclient", distribution="tall-client", seams=[])
say(read=read, warned=caught(lambda: lazyentity.patch("third")))
""",
    )
    assert state["read"] == "lazy stock"
    (warned,) = state["warned"]
    assert "toy-client 1.3 cannot be patched" in warned
    assert state["patched"] == ["tall"]
