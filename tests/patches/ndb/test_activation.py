"""ndb is patched and unpatched, in any order of calls and imports, in a fresh interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.cloud.environment_vars import GCD_HOST

from tests.support.forks import answer
from tests.support.subprocesses import run

Ask = Callable[[str], Any]

STATE = """
import json

def is_lazy():
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

def say(**state):
    print(json.dumps(state))
"""


@pytest.fixture
def ask(loopback: str) -> Ask:
    """Runs a program after that of ``STATE``; returns its answer."""
    return lambda body: answer("-c", STATE + body, **{GCD_HOST: loopback})


def test_models_go_on_working_after_unpatch(ask: Ask) -> None:
    state = ask(
        """
import lazyentity
is_lazy()
from google.cloud import ndb
lazyentity.patch("ndb")
with client.context():
    found = ndb.Key(Thing, 1).get()
    queried = Thing.query().fetch()
from google.cloud.datastore import Entity, helpers
datastore = type(helpers.entity_from_protobuf(helpers.entity_to_protobuf(Entity()))) is Entity
lazyentity.unpatch()
with client.context():
    texts = [repr(found), found.to_dict(), queried[0].name, found == queried[0]]
    found.number += 1
    found.put()
with client.context():
    again = ndb.Key(Thing, 1).get()
    say(datastore=datastore, texts=texts, number=again.number, values=type(again._values).__name__)
"""
    )
    key = "Key('Thing', 1, namespace='activation')"
    assert state["texts"] == [
        f"Thing(key={key}, name='one', number=5)",
        {"name": "one", "number": 5},
        *("one", True),
    ]
    assert state["datastore"], "another client was patched, too"
    assert state["number"] == 6
    assert state["values"] == "dict"


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
def test_calls_in_flight(ask: Ask, before: str, after: str, cache: str) -> None:
    """A call that was sent before patch() or unpatch() is answered after it."""
    state = ask(_READS.replace("BEFORE", before).replace("AFTER", after).replace("CACHE", cache))
    whole = {"name": "one", "number": 5}
    assert state["values"] == [whole, whole, whole, whole, 5]
    assert state["sent"] == ["lookup", *["run_query"] * 4]


_ABANDONED = """
import lazyentity.auto
from google.cloud import ndb
from lazyentity.patches.ndb import reads

manager = ndb.Client(project="lazyentity-tests").context()
manager.__enter__()
# As the interpreter empties a module when it exits: private names first.
for name in vars(reads):
    if name.startswith("_") and not name.startswith("__"):
        vars(reads)[name] = None
del manager
"""


def test_abandoned_context_says_nothing() -> None:
    """It is closed after the modules that it is of were emptied."""
    finished = run("-c", _ABANDONED, **{GCD_HOST: "127.0.0.1:1"})
    assert finished.returncode == 0
    assert finished.stderr == ""


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


def test_the_doctor_names_models_that_ndb_makes(tmp_path: Path) -> None:
    """They are those of the application; without one, there are none."""
    (tmp_path / "slow_models.py").write_text(_APPLICATION)
    program = f"""
import contextlib, io, json, sys
sys.path.insert(0, {str(tmp_path)!r})
from lazyentity.cli import dispatch
found = []
for options in ([], ["--app", "slow_models"]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert dispatch.main(["doctor", "--json", *options]) == 0
    findings = json.loads(out.getvalue())["findings"]
    texts = [(one["text"], one["level"]) for one in findings if one["subject"] == "ndb"]
    found.append([each for each in texts if "may not be lazy" in each[0]])
print(json.dumps(found))
"""
    without, found = answer("-c", program)
    assert without == []
    reasons = {
        "Built": "the class of an Expando has a constructor of its own",
        "Defaulted": "'part' has a default, which gets the parts",
        "Overriding": "the class of 's' overrides how a value is stored",
        "Setting": "the class overrides how an Expando makes properties",
    }
    assert sorted(found) == [
        [f"models of '{kind}' may not be lazy, because ndb itself makes them: {reason}", "note"]
        for kind, reason in reasons.items()
    ]
