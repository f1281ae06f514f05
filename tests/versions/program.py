"""Patches, reads and writes with later versions of the clients, each in a separate process.

Run as ``python -m tests.versions.program GRPC_PORT HTTP_PORT DOCUMENTS_PORT NAME...``: the ports of
a loopback server and of a server of documents, 0 without one, and the names that are changed.
Prints a line of JSON for each.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from tests.support.fork_server import import_required
from tests.versions.later import LaterVersion, install
from tests.versions.names import API_PACKAGES, names_in

_PROJECT = "lazyentity-tests"
_SECONDS = 120
"""In which a child must have done everything."""


def _described(value: Any) -> Any:
    if isinstance(value, dict):
        properties = sorted([name, _described(item)] for name, item in value.items())
        entity: Any = value
        if hasattr(entity, "exclude_from_indexes"):
            return [repr(entity.key), sorted(entity.exclude_from_indexes), properties]
        return properties
    if isinstance(value, list | tuple | set):
        return [_described(item) for item in value]
    return re.sub(r" at 0x\w+", "", repr(value))


def _attempt(results: dict[str, Any], name: str, call: Callable[[], Any]) -> None:
    try:
        results[name] = _described(call())
    except Exception as error:  # noqa: BLE001  # any error is compared
        results[name] = ["raised", type(error).__qualname__, str(error)]
        results.setdefault("traceback", traceback.format_exc())


def use_datastore(port: int, later: LaterVersion, transport: str) -> tuple[dict[str, Any], Any]:
    """Read and write; return the result of each call, and the classes of the entities."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import datastore

    client: Any = datastore.Client(
        project=_PROJECT,
        namespace=f"later{later.name}",
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": f"http://127.0.0.1:{port}"},
        _use_grpc=transport == "grpc",
    )
    results: dict[str, Any] = {}
    keys = [client.key("Parent", "p", "Thing", number + 1) for number in range(5)]
    kinds = set()

    def entity(number: int) -> Any:
        made: Any = datastore.Entity(keys[number], exclude_from_indexes=("text",))
        inner: Any = datastore.Entity(exclude_from_indexes=("deep",))
        inner.update({"deep": [1, None], "key": keys[0]})
        point = datastore.helpers.GeoPoint(1.5, 2.5)
        made.update({"number": number, "text": "t", "inner": inner, "list": [1.5, b"b", point]})
        return made

    def put() -> None:
        client.delete_multi(keys)
        client.put(entity(0))
        client.put_multi([entity(number) for number in range(1, 4)])

    def get() -> Any:
        found = client.get(keys[0])
        assert found is not None
        kinds.add(type(found).__name__)
        return found

    def get_multi() -> Any:
        missing: list[Any] = []
        found = client.get_multi(keys, missing=missing)
        return sorted(found, key=lambda entity: entity.key.id), missing

    def fetch() -> Any:
        query = client.query(kind="Thing", ancestor=client.key("Parent", "p"), order=["number"])
        iterator = query.fetch(limit=3)
        return list(iterator), bool(iterator.next_page_token), list(query.fetch(offset=2))

    def change() -> Any:
        with client.transaction() as transaction:
            found = client.get(keys[1])
            found["number"] = 77
            found["at"] = found["inner"]["key"]
            transaction.put(found)
            transaction.delete(keys[2])
        return client.get_multi(keys[1:3])

    def put_partial() -> Any:
        made = datastore.Entity(client.key("Other"))
        client.put(made)
        client.delete(made.key)
        return made.key.is_partial, made.key.kind, made.key.to_protobuf().path[0].kind

    for call in (put, get, get_multi, fetch, change, put_partial):
        _attempt(results, f"{transport} {call.__name__}", call)
    return results, kinds


def use_ndb(port: int, later: LaterVersion) -> tuple[dict[str, Any], Any]:
    """As :func:`use_datastore`, for models."""
    os.environ["DATASTORE_EMULATOR_HOST"] = f"127.0.0.1:{port}"
    from google.cloud import ndb

    class Part(ndb.Model):  # type: ignore[misc]  # ndb has no types
        number = ndb.IntegerProperty()

    class Model(ndb.Model):  # type: ignore[misc]  # ndb has no types
        number = ndb.IntegerProperty()
        text = ndb.TextProperty("t")
        when = ndb.DateTimeProperty()
        blob = ndb.BlobProperty(compressed=True)
        parts = ndb.LocalStructuredProperty(Part, repeated=True)
        computed = ndb.ComputedProperty(lambda self: (self.number or 0) + 1)
        key_of = ndb.KeyProperty()

    class Free(ndb.Expando):  # type: ignore[misc]  # ndb has no types
        number = ndb.IntegerProperty()

    client = ndb.Client(project=_PROJECT, namespace=f"ndb{later.name}")
    results: dict[str, Any] = {}
    kinds = set()
    keys: list[Any] = []

    def put() -> None:
        keys[:] = [ndb.Key(Model, number + 1) for number in range(3)]
        ndb.delete_multi(keys)
        for key in keys[:2]:
            parts = [Part(number=1), Part(number=2)]
            Model(key=key, number=5, text="t", blob=b"b", parts=parts, key_of=key).put()
        Free(id=1, number=1, other="x", more=[1, 2]).put()

    def get() -> Any:
        found = keys[0].get(use_cache=False)
        kinds.add(type(vars(found)[_VALUES_OF.get(later.name, "_values")]).__name__)
        return found.to_dict(), repr(found.key)

    def get_multi() -> Any:
        return [one and one.to_dict() for one in ndb.get_multi(keys, use_cache=False)]

    def query() -> Any:
        found = Model.query().order(Model.number, Model.key).fetch(use_cache=False)
        few = Model.query().fetch(projection=["number"])
        return [one.to_dict() for one in found], [one.number for one in few]

    def change() -> Any:
        def act() -> None:
            found = keys[1].get()
            found.number += 1
            found.put()

        ndb.transaction(act)
        return keys[1].get(use_cache=False).to_dict()

    def expando() -> Any:
        found = ndb.Key(Free, 1).get(use_cache=False)
        found.other = "y"
        found.put()
        return ndb.Key(Free, 1).get(use_cache=False).to_dict()

    def cached() -> Any:
        cache = ndb.global_cache._InProcessGlobalCache()
        texts = []
        for _ in range(2):
            with client.context(global_cache=cache):
                texts.append(keys[0].get().to_dict())
        return texts

    for call in (put, get, get_multi, query, change, expando):

        def in_context(call: Callable[[], Any] = call) -> Any:
            with client.context():
                return call()

        _attempt(results, f"ndb {call.__name__}", in_context)
    _attempt(results, "ndb cached", cached)
    return results, kinds


def use_firestore(port: int, later: LaterVersion) -> tuple[dict[str, Any], Any]:
    """As :func:`use_datastore`, for documents."""
    os.environ["FIRESTORE_EMULATOR_HOST"] = f"127.0.0.1:{port}"
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import firestore

    options: Any = {"project": _PROJECT, "credentials": AnonymousCredentials()}
    client: Any = firestore.Client(**options)
    things = client.collection(f"later{later.name}")
    results: dict[str, Any] = {}
    kinds = set()

    def told(snapshot: Any) -> Any:
        # A stock snapshot has nothing of lazyentity.
        if any("lazyentity" in name for name in vars(snapshot)):
            kinds.add("LazySnapshot")
        found = snapshot.to_dict()
        if found is not None and "reference" in found:
            found["reference"] = found["reference"].path
            found["point"] = vars(found["point"])
        return snapshot.id, snapshot.exists, found, type(snapshot.create_time).__name__

    def put() -> None:
        for number in range(4):
            point, reference = firestore.GeoPoint(1.5, 2.5), things.document("x")
            values = {"number": number, "map": {"a": [1.5, b"b", None]}, "text": "t"}
            things.document(str(number)).set({**values, "point": point, "reference": reference})

    def get() -> Any:
        return told(things.document("1").get()), told(things.document("none").get())

    def get_all() -> Any:
        return [told(each) for each in client.get_all([things.document("2")])]

    def get_value() -> Any:
        snapshot = things.document("2").get()
        return snapshot.get("map.a"), snapshot == things.document("2").get()

    def stream() -> Any:
        found = list(things.order_by("number").limit(2).stream())
        after = things.order_by("number").start_after(found[-1]).stream()
        return [told(each) for each in [*found, *after]]

    def group() -> Any:
        return [told(each) for each in client.collection_group(things.id).stream()]

    def read_asyncio() -> Any:
        async def read() -> Any:
            others = firestore.AsyncClient(**options).collection(things.id)
            one = told(await others.document("1").get())
            return one, [told(each) async for each in others.order_by("number").stream()]

        # Left open: the client's channel, which cannot be closed by a public name, uses it.
        return asyncio.new_event_loop().run_until_complete(read())

    for call in (put, get, get_all, get_value, stream, group, read_asyncio):
        _attempt(results, f"documents {call.__name__}", call)
    return results, kinds


_VALUES_OF = {"_values": "_values_of_later"}


def _use_all(ports: list[int], later: LaterVersion) -> tuple[dict[str, Any], list[str]]:
    results: dict[str, Any] = {}
    kinds: set[str] = set()
    uses: list[Callable[[], Any]] = [
        lambda: use_datastore(ports[0], later, "grpc"),
        lambda: use_datastore(ports[1], later, "http"),
    ]
    if importlib.util.find_spec("google.cloud.ndb") is not None:
        uses.append(lambda: use_ndb(ports[0], later))
    if ports[2]:
        uses.append(lambda: use_firestore(ports[2], later))
    for use in uses:
        given, seen = use()
        os.environ.pop("DATASTORE_EMULATOR_HOST", None)
        results.update(given)
        kinds |= seen
    return results, sorted(kinds)


def act(ports: list[int], name: str) -> dict[str, Any]:
    """Patch, read and write, unpatch, and do it again; return everything observed."""
    later = install(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        importlib.import_module("lazyentity.auto")
        results, kinds = _use_all(ports, later)
    lazyentity = sys.modules["lazyentity"]
    patched = list(lazyentity.patched())
    lazyentity.unpatch()
    stock, _ = _use_all(ports, later)
    # The functions of a patched client are others; errors are compared without them.
    stock.pop("traceback", None)
    return {
        "traceback": results.pop("traceback", None),
        "patched": patched,
        "kinds": kinds,
        "results": results,
        "stock": stock,
        "warnings": [str(one.message) for one in caught if "lazyentity" in str(one.message)],
    }


def main(ports: list[int], names: list[str]) -> None:
    """Do it for each name in a child, which inherits the imports that no name is in."""
    import_required()
    if names_in(API_PACKAGES).isdisjoint(names):
        for package in API_PACKAGES:
            importlib.import_module(package)
    # The children collect their own objects alone, and share the memory of these.
    gc.collect()
    gc.freeze()
    for name in names:
        pid = os.fork()
        if pid == 0:
            signal.alarm(_SECONDS)
            try:
                said: dict[str, Any] = act(ports, name)
            except BaseException:  # noqa: BLE001  # the parent reports it
                said = {"raised": traceback.format_exc()}
            sys.stdout.write(json.dumps({"name": name, **said}) + "\n")
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            sys.stdout.write(json.dumps({"name": name, "raised": f"status {status}"}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main([int(port) for port in sys.argv[1:4]], sys.argv[4:])
