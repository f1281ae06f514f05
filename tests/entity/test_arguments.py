"""Wrong arguments of the public functions are refused by a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore

import lazyentity
from lazyentity.readers import prepared_reader
from tests.support.strategies.samples import PLAIN

CLIENT = datastore.Client(project="demo", credentials=AnonymousCredentials())
LAZY = lazyentity.LazyEntity.from_bytes(PLAIN)
STOCK = lazyentity.materialize(LAZY)
QUERY = CLIENT.query(kind="Order")

WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "a list of names, lazy": (lazyentity.to_dict, (LAZY, ["text"]), "unpack a list: *names"),
    "a list of names, stock": (lazyentity.to_dict, (STOCK, ["text"]), "unpack a list: *names"),
    "names to prefetch": (lazyentity.prefetch, (LAZY, ["text"]), "unpack a list: *names"),
    "clients": (lazyentity.patch, (["datastore"],), "unpack a list: *names"),
    "clients to unpatch": (lazyentity.unpatch, (["datastore"],), "unpack a list: *names"),
    "a query": (lazyentity.columns, (QUERY, ["text"]), "pass query.fetch()"),
    "a query for batches": (lazyentity.column_batches, (QUERY, ["text"]), "pass query.fetch()"),
    "no names": (lazyentity.columns, ([LAZY], None), "names must be several names"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    function, arguments, text = WRONG[name]
    with pytest.raises(TypeError) as raised:
        function(*arguments)
    assert text in str(raised.value)


@pytest.mark.parametrize("option", ["strict", "eager"])
@pytest.mark.parametrize(
    ("name", "function", "given"),
    [("wrap", lazyentity.wrap, (QUERY,)), ("patch", lazyentity.patch, ("datastore",))],
)
def test_switches(name: str, function: Any, given: tuple[Any, ...], option: str) -> None:
    text = rf"^{name}\(\) takes {option}= as True or False, not as str"
    with pytest.raises(TypeError, match=text):
        function(*given, **{option: "yes"})
    assert lazyentity.patched() == ()


@pytest.mark.parametrize(
    "function",
    [
        *(lazyentity.decoded, lazyentity.to_dict, lazyentity.raw, lazyentity.wrap),
        lambda model: lazyentity.columns([model], ["number"]),
    ],
)
def test_models_of_ndb(function: Any) -> None:
    ndb = pytest.importorskip("google.cloud.ndb")
    model = ndb.Model.__new__(type("Order", (ndb.Model,), {}))
    with pytest.raises(TypeError, match=r"\.Order; lazyentity.patch\(\) makes models lazy"):
        function(model)


def test_a_misspelt_name_to_prefetch() -> None:
    """One warning, once a hundred entities lack the property; rarer properties are no mistake."""
    prepare: Any = prepared_reader(["number", "nunber"], False).prepare
    for _ in range(99):
        prepare(lazyentity.LazyEntity.from_bytes(PLAIN))
    with pytest.warns(RuntimeWarning, match="first 100 entities have no property 'nunber'"):
        prepare(lazyentity.LazyEntity.from_bytes(PLAIN))
    prepare(lazyentity.LazyEntity.from_bytes(PLAIN))
