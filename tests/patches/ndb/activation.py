"""Programs that patch ndb in a fresh interpreter and report the state."""

from __future__ import annotations

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
    import lazyentity
    # Of the other clients, which may be installed, none has to do with ndb.
    patched = [name for name in lazyentity.patched() if name in ("datastore", "ndb")]
    print(json.dumps({**state, "patched": patched}))
"""
