"""When ndb is patched, when it is left alone, and what is said then."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.environment_vars import GCD_HOST

from tests.ndb.conftest import Server
from tests.patching.subprocesses import answer, run

_STATE = """
import json, sys, types, warnings

class Same:
    # Equal to the very same object alone.
    def __init__(self, value):
        self.value = value
    def __eq__(self, other):
        return self.value is other.value

ADDED_BY_PYTHON = ("__warningregistry__", "__annotations__", "__slotnames__", "__cached__")

def standing(packages=("google.cloud.ndb", "google.cloud.datastore")):
    # Every attribute of the modules, and of the classes in them.
    spaces = {}
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith(packages) and isinstance(module, types.ModuleType):
            spaces[module_name] = vars(module)
            for name, value in vars(module).items():
                if isinstance(value, type) and value.__module__ == module_name:
                    spaces[module_name + ":" + name] = vars(value)
    return {
        (space, name): Same(value)
        for space, names in spaces.items()
        for name, value in names.items()
        if name not in ADDED_BY_PYTHON and not isinstance(value, types.ModuleType)
    }

def changed(before, packages=("google.cloud.ndb", "google.cloud.datastore")):
    # What there is not as it was. What was not there before is not looked at.
    now = standing(packages)
    return sorted(
        " ".join(name)
        for name in before
        if name[0].startswith(packages) and not before[name] == now.get(name, Same(None))
    )

def is_imported():
    return "google.cloud.ndb" in sys.modules

def is_lazy(kind=None, context=True):
    # Whether a model that is read now is lazy.
    from google.cloud import ndb
    global Thing, client
    if "Thing" not in globals():
        class Thing(ndb.Model):
            number = ndb.IntegerProperty()
            name = ndb.StringProperty("n")
    if "client" not in globals():
        client = ndb.Client(project="lazyentity-tests", namespace="activation")
    with client.context():
        Thing(id=1, number=5, name="one").put()
    with client.context():
        found = ndb.Key(Thing, 1).get()
        assert (found.number, found.name) == (5, "one"), found
    return type(found._values).__name__ == "LazyValues"

def caught(act):
    with warnings.catch_warnings(record=True) as all_of_them:
        warnings.simplefilter("always")
        act()
    # Not what importing the clients gives rise to.
    return [(one.category.__name__, str(one.message), one.filename) for one in all_of_them
            if one.category is RuntimeWarning]

def say(**state):
    import lazyentity
    print(json.dumps({**state, "patched": list(lazyentity.patched())}))
"""

BOTH = ["datastore", "ndb"]
_CALLS = ["lazyentity.patch()", 'lazyentity.patch("ndb")']


@pytest.fixture
def ask(loopback: Server) -> Any:
    """Runs a program in a fresh interpreter; returns what it said."""

    def ask_one(body: str, **environment: str) -> Any:
        return answer("-c", _STATE + body, **{GCD_HOST: loopback.host, **environment})

    return ask_one


def _patched_by(call: str) -> list[str]:
    return ["ndb"] if '"ndb"' in call else BOTH


class TestAuto:
    def test_before_the_import(self, ask: Any) -> None:
        state = ask(
            "import lazyentity.auto\nearly = is_imported()\nsay(early=early, lazy=is_lazy())"
        )
        assert state == {"early": False, "lazy": True, "patched": BOTH}

    def test_after_the_import(self, ask: Any) -> None:
        state = ask("from google.cloud import ndb\nimport lazyentity.auto\nsay(lazy=is_lazy())")
        assert state == {"lazy": True, "patched": BOTH}


@pytest.mark.parametrize("call", _CALLS)
class TestOrder:
    """The order of imports and of patch() does not matter."""

    def test_before_the_import(self, ask: Any, call: str) -> None:
        """Nothing is imported for somebody who may not need it."""
        state = ask(
            f"""
import lazyentity
{call}
early = is_imported()
from google.cloud import ndb
say(early=early, lazy=is_lazy())
"""
        )
        assert state == {"early": False, "lazy": True, "patched": _patched_by(call)}

    def test_after_the_import(self, ask: Any, call: str) -> None:
        state = ask(f"from google.cloud import ndb\nimport lazyentity\n{call}\nsay(lazy=is_lazy())")
        assert state == {"lazy": True, "patched": _patched_by(call)}

    @pytest.mark.parametrize("first", ["ndb", "datastore"])
    @pytest.mark.parametrize("place", [0, 1])
    def test_with_google_cloud_datastore(self, ask: Any, call: str, first: str, place: int) -> None:
        second = {"ndb": "datastore", "datastore": "ndb"}[first]
        steps = [f"from google.cloud import {first}", f"from google.cloud import {second}"]
        steps.insert(place, f"import lazyentity\n{call}")
        program = "\n".join(steps)
        state = ask(
            f"""
{program}
from google.cloud.datastore_v1.types import entity
from google.cloud.datastore import helpers
say(lazy=is_lazy(), datastore=type(helpers.entity_from_protobuf(entity.Entity())).__name__)
"""
        )
        assert state["lazy"]
        assert state["datastore"] == ("Entity" if '"ndb"' in call else "LazyEntity")

    def test_of_a_client_made_before(self, ask: Any, call: str) -> None:
        state = ask(
            f"before = is_lazy()\nimport lazyentity\n{call}\nsay(before=before, after=is_lazy())"
        )
        assert state == {"before": False, "after": True, "patched": _patched_by(call)}

    def test_twice(self, ask: Any, call: str) -> None:
        state = ask(
            f"""
import lazyentity
from google.cloud import ndb
{call}
once = standing()
{call}
lazyentity.patch("ndb")
say(changed=changed(once), lazy=is_lazy())
"""
        )
        assert state == {"changed": [], "lazy": True, "patched": _patched_by(call)}


class TestUnpatch:
    @pytest.mark.parametrize("patch", ['patch("ndb")', "patch()"])
    @pytest.mark.parametrize("unpatch", ['unpatch("ndb")', "unpatch()"])
    def test_restores_everything(self, ask: Any, patch: str, unpatch: str) -> None:
        """By identity."""
        state = ask(
            f"""
import lazyentity
before_reading = is_lazy()
before = standing()
lazyentity.{patch}
meanwhile = changed(before)
lazy = is_lazy()
lazyentity.{unpatch}
ndb = changed(before, ("google.cloud.ndb",))
again = is_lazy()
lazyentity.unpatch()
say(meanwhile=meanwhile, lazy=lazy, ndb=ndb, again=again, all=changed(before))
"""
        )
        assert len(state["meanwhile"]) >= 4
        assert state["lazy"]
        assert not state["again"]
        assert state["ndb"] == []
        assert state["all"] == []
        assert state["patched"] == []

    def test_of_datastore_leaves_ndb_patched(self, ask: Any) -> None:
        state = ask(
            'import lazyentity; lazyentity.patch(); lazyentity.unpatch("datastore")\n'
            "say(lazy=is_lazy())"
        )
        assert state == {"lazy": True, "patched": ["ndb"]}

    def test_of_ndb_leaves_datastore_patched(self, ask: Any) -> None:
        state = ask(
            'import lazyentity; lazyentity.patch(); lazyentity.unpatch("ndb")\nsay(lazy=is_lazy())'
        )
        assert state["patched"] == ["datastore"]

    @pytest.mark.parametrize("name", ["", '"ndb"'])
    def test_before_the_import(self, ask: Any, name: str) -> None:
        """What was to be patched when it is imported is not, then."""
        state = ask(
            f"""
import lazyentity
lazyentity.patch("ndb")
lazyentity.unpatch({name})
from google.cloud import ndb
say(lazy=is_lazy())
"""
        )
        assert state == {"lazy": False, "patched": []}

    def test_and_patched_again(self, ask: Any) -> None:
        state = ask(
            """
import lazyentity
seen = []
for _ in range(3):
    lazyentity.patch("ndb")
    seen.append(is_lazy())
    lazyentity.unpatch("ndb")
    seen.append(is_lazy())
say(seen=seen)
"""
        )
        assert state == {"seen": [True, False] * 3, "patched": []}

    def test_and_patched_again_before_the_import(self, ask: Any) -> None:
        state = ask(
            """
import lazyentity
lazyentity.patch()
lazyentity.unpatch()
lazyentity.patch("ndb")
lazyentity.unpatch("ndb")
lazyentity.patch("ndb")
early = is_imported()
say(early=early, lazy=is_lazy())
"""
        )
        assert state == {"early": False, "lazy": True, "patched": ["ndb"]}

    def test_models_go_on_working(self, ask: Any) -> None:
        state = ask(
            """
import lazyentity
is_lazy()
from google.cloud import ndb
lazyentity.patch("ndb")
with client.context():
    found = ndb.Key(Thing, 1).get()
    queried = Thing.query().fetch()
lazyentity.unpatch()
with client.context():
    texts = [repr(found), found.to_dict(), queried[0].name, found == queried[0]]
    found.number += 1
    found.put()
with client.context():
    again = ndb.Key(Thing, 1).get()
    say(texts=texts, number=again.number, values=type(again._values).__name__)
"""
        )
        key = "Key('Thing', 1, namespace='activation')"
        assert state["texts"] == [
            f"Thing(key={key}, name='one', number=5)",
            {"name": "one", "number": 5},
            *("one", True),
        ]
        assert state["number"] == 6
        assert state["values"] == "dict"


class TestInFlight:
    """A call that was sent before patch() or unpatch() is answered after it."""

    _READS = """
import lazyentity
is_lazy()
from google.cloud import ndb
from google.cloud.ndb import _datastore_api, _eventloop
sent = []
make_call = _datastore_api.make_call
def noting(*args, **kwargs):
    sent.append(args[0])
    return make_call(*args, **kwargs)
_datastore_api.make_call = noting
def send(count):
    while len(sent) < count:
        assert _eventloop.run1()
BEFORE
with client.context(global_cache=CACHE):
    futures = [ndb.Key(Thing, 1).get_async(), Thing.query().fetch_async(use_cache=False)]
    iterator = Thing.query().iter(use_cache=False)
    projected = Thing.query().iter(projection=["number"])
    assert iterator.has_next() and projected.has_next()
    futures += [Thing.query().fetch_async(limit=1, use_cache=False)]
    send(5)
    AFTER
    found = [futures[0].result(), *futures[1].result(), *futures[2].result()]
    found += [next(iterator), next(projected)]
    values = [one.to_dict() if not one._projection else one.number for one in found]
say(values=values, sent=sorted(sent))
"""

    @pytest.mark.parametrize("cache", ["None", "ndb.global_cache._InProcessGlobalCache()"])
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("lazyentity.patch()", "lazyentity.unpatch()"),
            ("", "lazyentity.patch()"),
        ],
        ids=["unpatch", "patch"],
    )
    def test_gives_the_same(self, ask: Any, before: str, after: str, cache: str) -> None:
        state = ask(
            self._READS.replace("BEFORE", before).replace("AFTER", after).replace("CACHE", cache)
        )
        whole = {"name": "one", "number": 5}
        assert state["values"] == [whole, whole, whole, whole, 5]
        assert state["sent"] == ["lookup", *["run_query"] * 4]


class TestDisabled:
    """The kill switch LAZYENTITY_DISABLE."""

    @pytest.mark.parametrize(
        "call", ["import lazyentity.auto", 'lazyentity.patch("ndb", strict=True)']
    )
    def test_nothing_is_patched(self, ask: Any, call: str) -> None:
        state = ask(
            f"import lazyentity\n{call}\nfrom google.cloud import ndb\nsay(lazy=is_lazy())",
            LAZYENTITY_DISABLE="1",
        )
        assert state == {"lazy": False, "patched": []}

    def test_the_log_says_so(self, loopback: Server) -> None:
        finished = run("-c", 'import lazyentity; lazyentity.patch("ndb")', LAZYENTITY_DISABLE="1")
        assert finished.returncode == 0, finished.stderr
        assert "LAZYENTITY_DISABLE" in finished.stderr


_OF_VERSION = """
import lazyentity
from lazyentity.patches import ndb as patched_ndb
patched_ndb.installed_version = lambda: VERSION
"""


@pytest.mark.parametrize("version", ["2.6.9", "2.8.0rc1"])
class TestUnsupportedVersion:
    """A google-cloud-ndb outside the declared range is left as it is."""

    @staticmethod
    def _of(version: str) -> str:
        return _OF_VERSION.replace("VERSION", repr(version))

    @pytest.mark.parametrize("is_first", [True, False])
    def test_is_one_warning(self, ask: Any, version: str, *, is_first: bool) -> None:
        """However often it is patched, before it is imported and after."""
        state = ask(
            self._of(version)
            + ("" if is_first else "from google.cloud import ndb\nbefore = standing()\n")
            + """
def act():
    for _ in range(3):
        lazyentity.patch("ndb")
    lazyentity.patch()
    from google.cloud import ndb
    lazyentity.patch("ndb")
    lazyentity.patch()
warned = caught(act)
kept = list(lazyentity.patched())
lazyentity.unpatch("datastore")
say(caught=warned, kept=kept, lazy=is_lazy())
"""
        )
        ((category, text, _),) = state["caught"]
        assert category == "RuntimeWarning"
        assert f"google-cloud-ndb {version} is not supported" in text
        assert not state["lazy"]
        assert state["kept"] == ["datastore"]
        assert state["patched"] == []

    def test_raises_when_strict(self, ask: Any, version: str) -> None:
        state = ask(
            self._of(version)
            + """
warnings.simplefilter("ignore")
texts = []
for names, strict in (((), True), (("ndb",), False), (("ndb",), True)):
    try:
        lazyentity.patch(*names, strict=strict)
    except RuntimeError as error:
        texts.append(str(error))
lazyentity.unpatch("datastore")
say(texts=texts, lazy=is_lazy())
"""
        )
        assert len(state["texts"]) == 2
        for text in state["texts"]:
            assert f"google-cloud-ndb {version} is not supported" in text
        assert not state["lazy"]


@pytest.mark.parametrize("version", ["2.7.0", "2.7.99"])
def test_supported_versions_are_patched(ask: Any, version: str) -> None:
    state = ask(
        _OF_VERSION.replace("VERSION", repr(version))
        + 'warned = caught(lambda: lazyentity.patch("ndb", strict=True))\n'
        "say(warned=warned, lazy=is_lazy())"
    )
    assert state == {"warned": [], "lazy": True, "patched": ["ndb"]}


_MISSING = """
import importlib.abc
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "google.cloud.ndb" or name.startswith("google.cloud.ndb."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import lazyentity
"""


class TestNotInstalled:
    def test_is_no_news_to_who_asks_for_all(self, ask: Any) -> None:
        state = ask(
            _MISSING
            + """
warned = caught(lazyentity.patch)
lazyentity.patch(strict=True)
say(warned=warned, imported=is_imported())
"""
        )
        assert state == {"warned": [], "imported": False, "patched": ["datastore"]}

    def test_auto(self, ask: Any) -> None:
        state = ask(_MISSING + "import lazyentity.auto\nsay()")
        assert state == {"patched": ["datastore"]}

    def test_is_one_warning_to_who_names_it(self, ask: Any) -> None:
        state = ask(
            _MISSING
            + """
def act():
    for _ in range(3):
        lazyentity.patch("ndb")
    lazyentity.patch("ndb", "datastore")
say(warned=caught(act))
"""
        )
        ((category, text, filename),) = state["warned"]
        assert category == "RuntimeWarning"
        assert "google-cloud-ndb is not installed" in text
        assert filename == "<string>"
        assert state["patched"] == ["datastore"]

    def test_raises_when_strict_and_named(self, ask: Any) -> None:
        state = ask(
            _MISSING
            + """
texts = []
try:
    lazyentity.patch("ndb", strict=True)
except RuntimeError as error:
    texts.append(str(error))
say(texts=texts)
"""
        )
        assert "google-cloud-ndb is not installed" in state["texts"][0]
        assert state["patched"] == []

    def test_unpatching_works_all_the_same(self, ask: Any) -> None:
        state = ask(_MISSING + 'lazyentity.unpatch()\nlazyentity.unpatch("ndb")\nsay()')
        assert state == {"patched": []}


class TestWrappers:
    """What somebody else puts around ndb's own conversion after it was patched is respected."""

    _WRAPPER = """
from google.cloud.ndb import model
import functools
def wrap(name):
    original = getattr(model, name)
    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        entity = original(*args, **kwargs)
        object.__setattr__(entity, "seen_by", getattr(entity, "seen_by", ()) + (name,))
        return entity
    setattr(model, name, wrapper)
"""
    _READ = """
def read():
    from google.cloud import ndb
    is_lazy()
    with client.context():
        found = [ndb.Key(Thing, 1).get(), Thing.query().get(use_cache=False)]
        found += Thing.query().fetch(projection=["number"])
        assert [one.number for one in found] == [5, 5, 5]
        return [list(getattr(one, "seen_by", ())) for one in found]
"""
    NAMES = ("_entity_from_ds_entity", "_entity_from_protobuf")

    @pytest.mark.parametrize("name", NAMES)
    def test_around_one(self, ask: Any, name: str) -> None:
        state = ask(
            f"{self._WRAPPER}{self._READ}import lazyentity\nlazyentity.patch()\nwrap({name!r})\n"
            "during = read()\nlazyentity.unpatch()\nsay(during=during, after=read())"
        )
        assert state["during"] == [[name]] * 3
        assert state["after"] == [[name]] * 3

    @pytest.mark.parametrize("name", NAMES)
    def test_that_replaces_the_model(self, ask: Any, name: str) -> None:
        """Somebody may make models of another make altogether."""
        state = ask(
            f"""
import lazyentity
is_lazy()
from google.cloud import ndb
from google.cloud.ndb import model
lazyentity.patch("ndb")
original = model.{name}
def other(*args, **kwargs):
    made = original(*args, **kwargs)
    return Thing(key=made.key, number=made.number * 100)
model.{name} = other
with client.context():
    during = ndb.Key(Thing, 1).get().number
lazyentity.unpatch()
stands = model.{name} is other
with client.context():
    after = ndb.Key(Thing, 1).get().number
say(during=during, after=after, stands=stands)
"""
        )
        assert state == {"during": 500, "after": 500, "stands": True, "patched": []}

    def test_old_references_are_named(self, ask: Any) -> None:
        """A module that imported the conversion by name goes on with stock's, and is named."""
        state = ask(
            """
from google.cloud.ndb.model import _entity_from_ds_entity
import lazyentity
say(warned=caught(lambda: lazyentity.patch("ndb")), lazy=is_lazy())
"""
        )
        ((category, text, _),) = state["warned"]
        assert category == "RuntimeWarning"
        assert text.endswith(": __main__")
        assert state["lazy"]
