"""A client of the REST API reads from a server and sends to it as stock, lazily too."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import lazyentity
from lazyentity.patches.rest.properties import JsonProperties, LazyProperties, RawJsonProperties
from tests.patches.conftest import Ports
from tests.patches.order_program import KIND
from tests.patches.rest.clients import (
    ClientCases,
    Connected,
    RestClient,
    form,
    without_times,
)
from tests.support.snapshots import Raised, outcome

HAS_RAW = importlib.util.find_spec("msgspec") is not None

Read = Callable[[RestClient, Connected], Any]


def lookup(client: RestClient, call: Connected) -> Any:
    return call("lookup", [client.key(KIND, number) for number in (1, 99, 2)])


def query(client: RestClient, call: Connected) -> Any:
    return call("runQuery", client.package.Query(KIND))


def _lookup_in_a_transaction(client: RestClient, call: Connected) -> Any:
    transaction = call("beginTransaction")
    found = call("lookup", [client.key(KIND, 1)], transaction=transaction)
    call("rollback", transaction)
    return found


def _querying(options: Callable[[Any], dict[str, Any]]) -> Read:
    def read(client: RestClient, call: Connected) -> Any:
        return call("runQuery", client.package.Query(**{"kind": KIND, **options(client.package)}))

    return read


def _is_odd(package: Any) -> Any:
    equal = package.PropertyFilterOperator.EQUAL
    return package.Filter(package.PropertyFilter("parity", equal, package.Value("odd")))


def _query_that_is_explained(client: RestClient, call: Connected) -> Any:
    options = client.package.ExplainOptions.ANALYZE
    result = call("runQuery", client.package.Query(KIND), explain_options=options)
    # The rest are times.
    return result.result_batch, result.explain_metrics.plan_summary


READS: dict[str, Read] = {
    "lookup": lookup,
    "in a transaction": _lookup_in_a_transaction,
    "of a partial key": lambda client, call: call("lookup", [client.key(KIND, None)]),
    "query": query,
    "in order": _querying(
        lambda package: {
            "order": [package.PropertyOrder("number", package.Direction.DESCENDING)],
            "limit": 2,
            "offset": 1,
        }
    ),
    "filtered": _querying(lambda package: {"query_filter": _is_odd(package)}),
    "projection": _querying(lambda package: {"projection": [package.Projection("number")]}),
    "of nothing": _querying(lambda _: {"kind": "Nothing"}),
    "explained": _query_that_is_explained,
}
# The client expects a cursor, and the server has none for an empty result.
REFUSED = ("of a partial key", "of nothing")


def entities_of(result: Any) -> list[Any]:
    """Return the entities in the result of a read."""
    if isinstance(result, dict):
        return [one.entity for one in (*result["found"], *result["missing"])]
    # Before 9.0, a query returns the batch itself.
    return [one.entity for one in getattr(result, "result_batch", result).entity_results]


class ReadCases(ClientCases):
    """The tests; a subclass names the client."""

    def _read(self, ports: Ports, read: Read, **options: Any) -> Any:
        with self.client.connected(ports["http"], **options) as call:
            return outcome(read, self.client, call)

    def _patch(self, **options: Any) -> None:
        lazyentity.patch(self.client.name, **options)

    @pytest.mark.parametrize("name", READS)
    @pytest.mark.parametrize("serialised", [True, False], ids=["serialised", "parsed"])
    def test_reads_are_those_of_stock(
        self, ports: Ports, name: str, serialised: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With msgspec and without it."""
        if not serialised:
            monkeypatch.setattr("lazyentity.patches.rest.responses.parsed_but_properties", None)

        def read() -> Any:
            result = self._read(ports, READS[name])
            return result.kind if isinstance(result, Raised) else without_times(form(result))

        refused = name in REFUSED or (name == "explained" and not self.client.has_query_results)
        assert isinstance(self.alike(read), type) is refused

    @pytest.mark.parametrize("read", [lookup, query])
    def test_properties_are_lazy(self, ports: Ports, read: Read) -> None:
        """Nothing is converted before it is read; where reads are eager everything is."""
        self._patch()
        for entity in entities_of(self._read(ports, read)):
            assert type(entity) is self.client.package.Entity
            if entity.properties:
                assert type(entity.properties) is LazyProperties
                assert type(entity.properties._received) is (
                    RawJsonProperties if HAS_RAW else JsonProperties
                )
                assert len(entity.properties._undecoded()) == len(entity.properties)
        with lazyentity.eager():
            found = self._read(ports, read)
        assert {type(entity.properties) for entity in entities_of(found)} == {dict}
        self._patch(eager=True)
        found = self._read(ports, read)
        assert {type(entity.properties) for entity in entities_of(found)} == {dict}

    def test_what_is_sent_is_what_stock_sends(self, ports: Ports) -> None:
        """Of entities that were read, changed or not."""

        def write(client: RestClient, call: Connected) -> Any:
            sent = []
            session = call.datastore.session.session
            post = session.post

            def note(url: str, **options: Any) -> Any:
                sent.append((url, json.loads(options["data"])))
                return post(url, **options)

            with mock.patch.object(session, "post", note):
                entities = entities_of(query(client, call))
                entities[0].properties["number"] = 5
                make, operation = call.datastore.make_mutation, client.package.Operation.UPSERT
                mutations = []
                for entity in entities:
                    path = [client.package.PathElement("Sent", id_=entity.key.path[0].id)]
                    key = client.package.Key(entity.key.project, path)
                    mutations.append(make(operation, key, entity.properties))
                mode = client.package.Mode.NON_TRANSACTIONAL
                call("commit", mutations, mode=mode)
            return [sent, [entity.to_repr() for entity in entities]]

        assert not isinstance(self.alike(lambda: self._read(ports, write)), Raised)
