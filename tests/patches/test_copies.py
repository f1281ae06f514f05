"""Two copies of lazyentity in one process, as ``del sys.modules[...]`` and reloaders leave them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.support.forks import answer

_PROGRAM = """
import importlib, json, sys
from tests.patches.order_program import KIND, read
from tests.support.clients import make_client
from tests.support.describing import describe

def copy():
    for name in list(sys.modules):
        if name.partition(".")[0] == "lazyentity":
            del sys.modules[name]
    return importlib.import_module("lazyentity")

def types_of_pages(client):
    return [type(page).__name__ for page in client.query(kind=KIND).fetch().pages]

ports, steps, eager = PORTS, STEPS, EAGER
clients = [make_client(port, transport) for transport, port in ports.items()]
copies, seen = {}, []
for step, number in steps:
    if number not in copies:
        copies[number] = copy()
        # The code that was imported goes on with its own copy.
        importlib.import_module("lazyentity.auto" if eager is None else "lazyentity.patches")
    if step == "patch":
        copies[number].patch(eager=eager)
    else:
        copies[number].unpatch()
    seen.append([copies[number].patched() != (), [read(client)["classes"] for client in clients]])
clients += [make_client(port, transport) for transport, port in ports.items()]
print(json.dumps({
    "copies": len(set(map(id, copies.values()))),
    "seen": seen,
    "reads": [read(client) for client in clients],
    "pages": [types_of_pages(client) for client in clients],
}))
"""

_BOTH = [("patch", 1), ("patch", 2), ("unpatch", 1), ("unpatch", 2)]
_ORDERS = [
    order
    for order in itertools.permutations(_BOTH)
    if all(order.index(("patch", each)) < order.index(("unpatch", each)) for each in (1, 2))
]
_LONGER = [[*_BOTH, *_BOTH], [*_BOTH, *reversed(_BOTH), *_BOTH[2:]], [_BOTH[0], *_BOTH, *_BOTH[2:]]]


@pytest.mark.parametrize("steps", [*_ORDERS, *_LONGER])
@pytest.mark.parametrize("eager", [True, None])
def test_both_are_unpatched(
    ports: dict[str, int], stock_contents: Any, steps: Any, eager: bool | None
) -> None:
    """Then all reads are stock, of clients made before as of those made after."""
    program = _PROGRAM.replace("PORTS", repr(ports)).replace("STEPS", repr([*steps]))
    result = answer("-c", program.replace("EAGER", repr(eager)), warnings="ignore")
    assert result["copies"] == 2
    first, *_, last = result["seen"]
    assert first == [True, [["Entity"] if eager else ["LazyEntity"]] * 2]
    assert last == [False, [["Entity"]] * 2]
    for read in result["reads"]:
        assert (read["classes"], read["contents"]) == (["Entity"], stock_contents)
    assert {name for names in result["pages"] for name in names} == {"Page"}
