"""Programs that patch ndb in a fresh interpreter and report the state."""

from __future__ import annotations

STATE = """
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
    # The attributes that were replaced. New attributes do not count.
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
    # Of the other clients, which may be installed, none has to do with ndb.
    patched = [name for name in lazyentity.patched() if name in ("datastore", "ndb")]
    print(json.dumps({**state, "patched": patched}))
"""
