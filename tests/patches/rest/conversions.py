"""A client of the REST API makes the same of generated responses lazily as it does stock."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

import lazyentity
from lazyentity._environment import ADAPTERS
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.rest.properties import LazyProperties, mark_response
from tests.patches.rest.clients import ClientCases, form, subclass
from tests.patches.rest.received import broken_responses, lookup_responses, query_responses
from tests.support.snapshots import Raised, outcome

Parse = Callable[[bytes], Any]


def _parse_marking(body: bytes) -> Any:
    return mark_response(json.loads(body))


def _parse_raw(body: bytes) -> Any:
    raw = pytest.importorskip("lazyentity.patches.rest.raw")
    return raw.parsed_but_properties(body)


def _body(response: Any) -> bytes:
    return json.dumps(response).encode()


with_both = pytest.mark.parametrize(
    "parse", [_parse_marking, _parse_raw], ids=["parsed", "serialised"]
)


class ConversionCases(ClientCases):
    """The tests; a subclass names the client."""

    def _query(self, data: Any) -> Any:
        return self.client.query_result(data)

    def _lazily(self, convert: Callable[[Any], Any], data: Any) -> Any:
        patch = CLIENTS[self.client.name].patch
        patch.apply()
        try:
            return convert(data)
        finally:
            patch.revert()

    @with_both
    @given(response=query_responses)
    def test_queries(self, parse: Parse, response: Any) -> None:
        """Results are stock's, whatever the entities hold, and so is what they are sent as."""
        stock = self._query(json.loads(_body(response)))
        lazy = self._lazily(self._query, parse(_body(response)))
        # One that holds NaN is not even equal to itself.
        assert (lazy == stock) is (self._query(json.loads(_body(response))) == stock)
        assert form(lazy) == form(stock)
        again = self._lazily(self._query, parse(_body(response)))
        assert repr(again) == repr(stock)

    @with_both
    @given(response=lookup_responses)
    def test_lookups(self, parse: Parse, response: Any) -> None:
        convert = self.client.package.Datastore._build_lookup_result
        convert = functools.partial(convert, object.__new__(self.client.package.Datastore))
        stock = convert(json.loads(_body(response)))
        lazy = self._lazily(convert, parse(_body(response)))
        assert form(lazy) == form(stock)

    @with_both
    @given(response=broken_responses)
    def test_errors_come_with_the_property(self, parse: Parse, response: Any) -> None:
        """The others can be read, and give stock's values."""
        lazy = outcome(lambda: self._lazily(self._query, parse(_body(response))))
        stock = outcome(self._query, json.loads(_body(response)))
        if isinstance(lazy, Raised):
            # Not of a property.
            assert lazy == stock
            return
        raised = []
        kept = response["batch"].get("entityResults", [])
        results = self.client.batch_of(lazy).entity_results
        for result, received in zip(results, kept, strict=True):
            for name, value in received["entity"].get("properties", {}).items():
                expected = outcome(
                    self.client.package.Value.from_repr, json.loads(json.dumps(value))
                )
                read = outcome(lambda: result.entity.properties[name])  # noqa: B023  # called here
                if isinstance(expected, Raised):
                    raised.append(expected)
                    assert read == expected
                else:
                    assert form(read) == form(expected.value)
        assert raised[:1] == ([stock] if isinstance(stock, Raised) else [])

    def _one(self, parse: Parse, **properties: Any) -> Any:
        received = {
            name: {"stringValue": value} if isinstance(value, str) else value
            for name, value in properties.items()
        }
        data = parse(_body({"found": [{"entity": {"properties": received}}]}))["found"][0]
        return self._lazily(self.client.package.EntityResult.from_repr, data).entity

    @with_both
    def test_one_property_is_converted(self, parse: Parse) -> None:
        """The others are not; each is converted once, and can be assigned and deleted."""
        entity = self._one(parse, a="1", b="2", c="3")
        assert type(entity) is self.client.package.Entity
        assert type(entity.properties) is LazyProperties
        assert entity.properties["b"] == "2"
        assert entity.properties["b"] is entity.properties["b"]
        assert entity.properties._undecoded() == ["a", "c"]
        entity.properties["a"] = 5
        assert entity.properties.pop("c") == "3"
        assert list(entity.properties.items()) == [("a", 5), ("b", "2")]

    @with_both
    def test_copies_are_plain(self, parse: Parse) -> None:
        """They can be loaded where lazyentity is not installed."""
        for entity in (
            copy.deepcopy(self._one(parse, a="1")),
            pickle.loads(pickle.dumps(self._one(parse, a="1"))),
        ):
            assert type(entity.properties) is dict
            assert entity.properties == {"a": "1"}

    def test_an_entity_does_not_keep_its_response(self) -> None:
        """Each has a copy of its bytes."""
        results = [{"entity": {"properties": {"a": {"stringValue": "1"}}}}] * 2
        body = _body({"found": results, "transaction": "dHg="})
        references = sys.getrefcount(body)
        data = _parse_raw(body)
        assert len(data["found"]) == 2
        assert sys.getrefcount(body) == references

    @with_both
    def test_code_in_c_reads_them(self, parse: Parse, monkeypatch: pytest.MonkeyPatch) -> None:
        """Through the adapters, as of lazy entities."""
        orjson = pytest.importorskip("orjson")
        monkeypatch.delenv(ADAPTERS)
        entities = [self._one(parse, a="1", b="2") for _ in range(2)]
        lazyentity.patch(self.client.name)
        for value in (entities[0].properties, {"inside": [entities[1].properties]}):
            assert orjson.loads(orjson.dumps(value)) == json.loads(json.dumps(value))

    def test_what_was_not_received_is_converted_at_once(self) -> None:
        """An application's own JSON is in its own hands."""
        data = {"properties": {"a": {"stringValue": "1"}}}
        lazyentity.patch(self.client.name)
        entity = self.client.package.Entity.from_repr(data)
        assert type(entity.properties) is dict
        data["properties"]["a"]["stringValue"] = "2"
        assert entity.properties == {"a": "1"}

    @with_both
    def test_values_of_an_own_class(self, parse: Parse) -> None:
        """They convert every property."""

        class Value(self.client.package.Value):  # type: ignore[name-defined]  # the client's
            @classmethod
            def from_repr(cls, data: Any) -> Any:
                return cls([data])

        kind = subclass(self.client.package.Entity, value_kind=Value)
        properties = {"a": {"stringValue": "1"}}
        data = parse(_body({"found": [{"entity": {"properties": properties}}]}))["found"][0]
        entity = self._lazily(kind.from_repr, data["entity"])
        assert type(entity.properties) is LazyProperties
        assert entity.properties == {name: [value] for name, value in properties.items()}

    @with_both
    def test_unpatched_in_the_middle(self, parse: Parse) -> None:
        """Properties that were parsed to be converted later are converted at once."""
        data = parse(_body({"found": [{"entity": {"properties": {"a": {"stringValue": "1"}}}}]}))
        entity = self.client.package.Entity.from_repr(data["found"][0]["entity"])
        assert (type(entity.properties), entity.properties) == (dict, {"a": "1"})
