"""A framework that put its own classes in place of the client's keeps them, in both orders."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.patches.conftest import Ports
from tests.support.forks import answer

_USE = """
import json, warnings
from tests.support.describing import describe

def use(ports, namespace):
    from google.cloud import datastore
    from tests.patches.datastore import framework
    from tests.support.clients import make_client
    from tests.support.entities import fill
    seen = []
    for transport, port in ports.items():
        client = make_client(port, transport, namespace=f"{namespace}-{transport}")
        path = dict(project=client.project, namespace=client.namespace)
        keys = [framework.Key("Framed", number, **path) for number in (1, 2, 3)]
        client.put_multi([fill(framework.Entity(key), key.id) for key in keys])
        found = [client.get(keys[0]), *sorted(client.get_multi(keys), key=lambda e: e.key.id)]
        found += client.query(kind="Framed", order=["__key__"]).fetch()
        with client.transaction():
            changed = client.get(keys[1])
            changed["number"] = 77
            client.put(changed)
        client.put_multi(found[1:3])
        found += client.query(kind="Framed", order=["__key__"]).fetch()
        classes = {type(part) for entity in found for part in (entity, entity.key, entity["inner"])}
        described = json.dumps([describe(entity) for entity in found], default=repr)
        seen.append([sorted(map(str, classes)), described.replace(f"-{transport}", "")])
    return seen

caught = []
def noting(act):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        act()
    caught.extend(str(one.message) for one in given if "lazyentity" in str(one.message))
"""

_STEPS = {
    "stock": "import tests.patches.datastore.framework",
    "the framework first": """
import tests.patches.datastore.framework
noting(lambda: __import__("lazyentity.auto"))
""",
    "lazyentity first": """
noting(lambda: __import__("lazyentity.auto"))
import tests.patches.datastore.framework
""",
    "the framework first, eagerly": """
import tests.patches.datastore.framework, lazyentity
noting(lambda: lazyentity.patch(eager=True))
""",
}


@pytest.fixture(scope="module")
def stock(ports: Ports) -> Any:
    return _seen("stock", ports)


def _seen(order: str, ports: Ports) -> Any:
    namespace = uuid.uuid4().hex
    state = answer(
        "-c",
        f"{_USE}\n{_STEPS[order]}\n"
        f"print(json.dumps([use({ports!r}, {namespace!r}), caught]).replace({namespace!r}, ''))",
    )
    return json.loads(json.dumps(state))


@pytest.mark.parametrize("order", [order for order in _STEPS if order != "stock"])
def test_its_classes_stay(ports: Ports, stock: Any, order: str) -> None:
    """It reads and writes what it does without lazyentity, over both transports."""
    (classes, _), _ = stock[0]
    assert classes == [
        "<class 'tests.patches.datastore.framework.Entity'>",
        "<class 'tests.patches.datastore.framework.Key'>",
    ]
    seen, warned = _seen(order, ports)
    assert seen == stock[0]
    # A replacement that comes after patch() is not announced.
    replaced = ["entity_from_protobuf", "key_from_protobuf"] if "framework first" in order else []
    for name, text in zip(replaced, warned, strict=True):
        assert f"helpers.{name} was replaced by tests.patches.datastore.framework.{name}" in text
