"""Importing lazyentity touches no client; one that is unsupported is left alone, as is ndb then."""

from __future__ import annotations

import sys
import types
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


def test_what_waits_for_its_import_is_among_those_patched() -> None:
    state = ask(
        """
import lazyentity.auto
before = patched()
import_all()
say(before=before, after=patched(), replaced=replaced())
"""
    )
    assert state == {"before": _JOINED, "after": _JOINED, "replaced": _REPLACED}


@pytest.mark.parametrize("eager", [True, False])
def test_the_mode_is_that_of_the_last_call_before_the_import(eager: bool) -> None:
    state = ask_interpreter(
        f"""
import lazyentity
lazyentity.patch(eager={not eager})
lazyentity.patch(eager={eager})
before = clients()
import_all()
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity
say(before=before, kind=type(helpers.entity_from_protobuf(entity.Entity())).__name__)
"""
    )
    assert state == {"before": [], "kind": "Entity" if eager else "LazyEntity"}


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


def test_of_what_is_disabled_nothing_but_the_switch_is_read() -> None:
    state = ask_interpreter(
        """
def fail(*_):
    raise AssertionError("it was read")
find_spec = importlib.util.find_spec
importlib.metadata.version = importlib.util.find_spec = fail
import lazyentity.auto
early = clients()
importlib.metadata.version, importlib.util.find_spec = installed, find_spec
import_all()
say(early=early, replaced=replaced(), patched=patched(), texts=Records.texts)
""",
        LAZYENTITY_DISABLE="1",
        LAZYENTITY_BACKEND="no such backend",
    )
    assert state["early"] == state["replaced"] == state["patched"] == []
    (text,) = state["texts"]
    assert "LAZYENTITY_DISABLE" in text


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


@pytest.mark.parametrize("version", ["None", "'no version'"])
def test_version_that_nothing_tells(version: str) -> None:
    """Before the import it is waited for; one that cannot be understood is not supported."""
    state = ask(
        f"""
pretend("google-cloud-datastore", {version})
import lazyentity
warned = caught(lambda: lazyentity.patch("datastore"))
import_all()
say(warned=len(warned), patched=patched())
"""
    )
    is_known = version != "None"
    assert state == {"warned": int(is_known), "patched": [] if is_known else ["datastore"]}


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

    def test_of_what_is_imported(self, module: str) -> None:
        """It acts at once, also where it was cancelled before."""
        acted: list[int] = []
        one = WhenImported(module, partial(acted.append, 1))
        one.wait()
        one.cancel()
        __import__(module)
        assert acted == []
        one.wait()
        WhenImported(module, partial(acted.append, 2)).wait()
        assert acted == [1, 2]

    def test_packages_around_it_are_not_imported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / f"around_{tmp_path.name}"
        (package / "inner").mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "inner" / "__init__.py").write_text("raise AssertionError")
        (package / "inner" / "awaited.py").write_text("")
        monkeypatch.syspath_prepend(tmp_path)
        assert WhenImported(f"{package.name}.inner.awaited", lambda: None).is_installed()
        assert package.name not in sys.modules

    def test_not_installed(self) -> None:
        for name in ("no_such_module", "no_such_package.module"):
            assert not WhenImported(name, lambda: None).is_installed()

    def test_module_without_a_spec(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = types.ModuleType("made_by_hand")
        monkeypatch.setitem(sys.modules, made.__name__, made)
        assert WhenImported(made.__name__, lambda: None).is_installed()
