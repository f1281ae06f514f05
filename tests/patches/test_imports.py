"""Importing lazyentity touches no client; one that is unsupported is left alone, as is ndb then."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import lazyentity
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.imports import WhenImported
from tests.conftest import HAS_NDB, INSTALLED
from tests.support import subprocesses
from tests.support.forks import answer

# Those that stay stock if google-cloud-datastore does. The others are patched all the same.
_JOINED = [
    name
    for name in INSTALLED
    if name == "datastore" or CLIENTS["datastore"] in CLIENTS[name].underneath
]

_STATE = """
import importlib.metadata, json, logging, sys, warnings

class Records(logging.Handler):
    texts = []
    def emit(self, record):
        self.texts.append(f"{record.levelname} {record.getMessage()}")

logging.getLogger("lazyentity").addHandler(Records())
logging.getLogger("lazyentity").setLevel(logging.INFO)
warnings.simplefilter("ignore")

def clients():
    return sorted(
        name for name in sys.modules
        if name.startswith(("grpc", "google.api_core", "google.cloud.", "google.protobuf", "proto"))
    )

def replaced():
    from google.cloud.datastore import helpers, key
    places = {
        "helpers": (helpers.entity_from_protobuf.__code__, helpers),
        "kind": (key.Key.kind.fget.__code__, key),
    }
    if "google.cloud.ndb" in sys.modules:
        from google.cloud.ndb import model
        places["model"] = model._entity_from_ds_entity.__code__, model
    return [
        name for name, (code, module) in places.items() if code.co_filename != module.__file__
    ]

def caught(act):
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in all_of_them if "lazyentity" in str(one.message)]

def import_all():
    import google.cloud.datastore
    try:
        import google.cloud.ndb
    except ImportError:
        pass

installed = importlib.metadata.version

def pretend(distribution, version):
    def answer(name):
        if name != distribution:
            return installed(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version
    importlib.metadata.version = answer

def pretend_when_imported():
    import wrapt
    wrapt.register_post_import_hook(
        lambda module: setattr(module, "__version__", "2.99"), "google.cloud.datastore.version"
    )

def patched():
    import lazyentity
    return [name for name in lazyentity.patched() if name in JOINED]

def say(**state):
    print(json.dumps(state))
"""

_STATE += f"JOINED = {_JOINED!r}\n"

_REPLACED = ["helpers", "kind", "model"] if HAS_NDB else ["helpers"]


def ask(body: str) -> Any:
    return answer("-c", _STATE + body)


def ask_interpreter(body: str, **environment: str) -> Any:
    """As :func:`ask`, in a process in which nothing is imported."""
    return subprocesses.answer("-c", _STATE + body, **environment)


@pytest.mark.parametrize("module", ["lazyentity", "lazyentity.auto"])
def test_no_client_is_imported(module: str) -> None:
    """Importing lazyentity imports neither clients nor their requirements."""
    state = ask_interpreter(f"import {module}\nsay(clients=clients())")
    assert state["clients"] == []


def test_one_line_is_logged() -> None:
    """Clients, versions, and the backend; whether they are imported first or not."""
    before = ask("import lazyentity.auto\nsay(texts=Records.texts, versions=installed('wrapt'))")
    (text,) = before["texts"]
    assert text.startswith(
        f"INFO lazyentity {lazyentity.__version__}, {lazyentity.backend} backend"
    )
    assert "google-cloud-datastore 2." in text
    assert text.count("is patched when it is imported") == len(INSTALLED)
    missing = [f"no {client.distribution}" in text for client in CLIENTS.values()]
    assert missing == [name not in INSTALLED for name in CLIENTS]
    imports = "".join(f"import {CLIENTS[name].waits_for_import}\n" for name in INSTALLED)
    after = ask(f"{imports}import lazyentity.auto\nsay(texts=Records.texts)")
    assert after["texts"] == [text.replace(" when it is imported", "")]


_IMPORTS = {
    "before": "import_all()\nsys.modules['google.cloud.datastore.version'].__version__ = '2.99'",
    "after": "pretend('google-cloud-datastore', '2.99'); pretend_when_imported()",
    "supported": "pretend_when_imported()",
}


@pytest.mark.parametrize("how", _IMPORTS)
@pytest.mark.parametrize("call", ["import lazyentity.auto", 'lazyentity.patch("ndb")'])
def test_what_is_over_an_unsupported_client_is_left_alone(how: str, call: str) -> None:
    """Imported before, installed in another version, or only then found to be one."""
    if "ndb" in call and not HAS_NDB:
        pytest.skip("google-cloud-ndb is not installed")
    state = ask(
        f"""
{_IMPORTS[how]}
import lazyentity
def act():
    {call}
warned = caught(act)
early = patched()
warned += caught(import_all)
def again():
    lazyentity.patch()
    lazyentity.patch("ndb")
again_warned = caught(again) if {HAS_NDB} else []
say(warned=warned, early=early, again=again_warned, patched=patched(), replaced=replaced())
"""
    )
    (text,) = state.pop("warned")
    assert "google-cloud-datastore 2.99 is not supported" in text
    early = state.pop("early")
    assert early == ([] if how != "supported" else ["ndb"] if "ndb" in call else _JOINED)
    assert state == {"again": [], "patched": [], "replaced": []}


def test_threads_that_import_and_patch_at_once() -> None:
    """None waits for another that waits for it: all of this ends."""
    finished = subprocesses.run(
        "-c",
        """
import faulthandler, threading
faulthandler.dump_traceback_later(60, exit=True)
import lazyentity
start = threading.Barrier(4)
def patching():
    start.wait()
    for _ in range(200):
        lazyentity.patch()
def importing():
    start.wait()
    from google.cloud import datastore
threads = [threading.Thread(target=act) for act in (patching, importing) * 2]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert "datastore" in lazyentity.patched()
from google.cloud import datastore
assert datastore.helpers.entity_from_protobuf.__code__.co_filename != datastore.helpers.__file__
""",
    )
    assert finished.returncode == 0, finished.stderr


class TestNames:
    """The public names can be imported in any order."""

    @pytest.mark.parametrize("name", ["LazyEntity", "backend", "detach", "raw", "wrap"])
    def test_one_may_be_asked_for_before_the_client_is_imported(self, name: str) -> None:
        """Its module imports the client, which is patched then."""
        state = ask(
            f"""
import lazyentity.auto
warned = caught(lambda: getattr(lazyentity, {name!r}))
import_all()
say(warned=warned, patched=patched(), replaced=replaced())
"""
        )
        assert state == {"warned": [], "patched": _JOINED, "replaced": _REPLACED}

    def test_all_are_given(self) -> None:
        state = ask(
            """
import lazyentity
missing = [name for name in lazyentity.__all__ if name not in dir(lazyentity)]
from lazyentity import *
from lazyentity import LazyEntity, backend
say(missing=missing, same=LazyEntity is lazyentity.LazyEntity, absent=[
    name for name in lazyentity.__all__ if name not in globals()
], unknown=hasattr(lazyentity, "unknown"))
"""
        )
        assert state == {"missing": [], "same": True, "absent": [], "unknown": False}


class TestWhenImported:
    @pytest.fixture
    def module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        """The name of a module that was not imported yet."""
        name = f"awaited_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text("")
        monkeypatch.syspath_prepend(tmp_path)
        return name

    def test_a_package_with_code_is_not_imported(self, module: str, tmp_path: Path) -> None:
        (tmp_path / "with_code").mkdir()
        (tmp_path / "with_code" / "__init__.py").write_text("raise SystemExit")
        assert WhenImported("with_code.inside", lambda: None).is_installed()
        assert not WhenImported("without.inside", lambda: None).is_installed()

    def test_several(self, module: str) -> None:
        """Each acts once, in the order of waiting, unless it was cancelled."""
        acted: list[int] = []
        waiting = [WhenImported(module, partial(acted.append, number)) for number in range(4)]
        for one in waiting[::-1]:
            assert one.is_installed()
            assert not one.is_imported()
            one.wait()
            one.wait()
        waiting[1].cancel()
        assert [one.awaited for one in waiting] == [True, False, True, True]
        __import__(module)
        assert acted == [3, 2, 0]
        assert not any(one.awaited for one in waiting)
