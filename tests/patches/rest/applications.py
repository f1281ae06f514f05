"""A client of the REST API whose classes and functions an application replaces, as in stock."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any
from unittest import mock

import pytest

import lazyentity
from lazyentity.patches.rest.properties import LazyProperties
from tests.patches.conftest import Ports
from tests.patches.order_program import KIND
from tests.patches.rest.clients import ClientCases, Connected, form, subclass, without_times
from tests.patches.rest.reads import entities_of, lookup, query
from tests.support.clients import PROJECT
from tests.support.snapshots import Raised, outcome


def _by_reading(data: Any) -> Any:
    """Return JSON as a function sees it that reads names one by one."""
    if isinstance(data, dict):
        return {name: _by_reading(data[name]) for name in data}
    return [_by_reading(item) for item in data] if isinstance(data, list) else data


class _Own:
    """A class that makes a value of any JSON, and has nothing else of the client's."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def from_repr(cls, data: Any) -> _Own:
        return cls(re.sub('"readTime": "[^"]*"', "", json.dumps(_by_reading(data))))


def _session_post(call: Connected) -> Any:
    """Return a function that sends JSON as every client of the same library can."""
    headers = {"Content-Type": "application/json"}
    return lambda url, body: call.datastore.session.post(url, headers, json.dumps(body).encode())


class ApplicationCases(ClientCases):
    """The tests; a subclass names the client."""

    def _reads(self, ports: Ports, kind: Any) -> list[Any]:
        """Return the forms of what a subclass of the client reads, without times."""
        forms = []
        for read in (lookup, query):
            with self.client.connected(ports["http"], kind=kind) as call:
                result = outcome(read, self.client, call)
                assert not isinstance(result, Raised)
                forms.append(without_times(form(result)))
        return forms

    @pytest.mark.parametrize(
        ("place", "consumes"),
        [
            *((name, False) for name in ("EntityResult", "QueryResultBatch", "QueryResult")),
            *(("Datastore", False), ("Entity", False), ("Entity", True)),
        ],
    )
    def test_conversions(self, ports: Ports, place: str, consumes: bool) -> None:
        """They get the JSON that they get from stock, with all properties; some take parts out."""
        package: Any = self.client.package
        if not hasattr(package, place):
            pytest.skip(f"this version of the client has no {place}")
        name = "_build_lookup_result" if place == "Datastore" else "from_repr"
        original = vars(getattr(package, place))[name]
        given: list[Any] = []

        def convert(owner: Any, data: Any) -> Any:
            given.append(without_times(form(_by_reading(data))))
            made = original.__get__(owner, owner)(data)
            if consumes:
                data.get("properties", {}).clear()
            return made

        method = classmethod(convert) if isinstance(original, classmethod) else convert
        kind = self.client.own_kind(**{place: {name: method}})

        def read() -> Any:
            given.clear()
            return self._reads(ports, kind), given.copy()

        assert self.alike(read)[1]

    @pytest.mark.parametrize(
        "place", ["value_kind", "entity_kind", "entity_result_kind", "query_result_kind"]
    )
    def test_classes_that_only_convert(self, ports: Ports, place: str) -> None:
        """In place of the client's classes."""
        if place == "query_result_kind" and not self.client.has_query_results:
            place = "query_result_batch_kind"
        holder = {"value_kind": "Entity", "entity_kind": "EntityResult"}.get(place, "Datastore")
        kind = self.client.own_kind(**{holder: {place: _Own}})
        self.alike(lambda: self._reads(ports, kind))

    @pytest.mark.parametrize("place", ["__new__", "metaclass"])
    def test_constructors(self, ports: Ports, place: str) -> None:
        """Of an application's own class of entities: they get the JSON, as in stock."""
        given: list[Any] = []
        note = given.append

        class Meta(type):
            def __call__(cls, key: Any, properties: Any = None) -> Any:
                note(form(_by_reading(properties)))
                return super().__call__(key, properties)

        def __new__(cls: Any, key: Any, properties: Any = None) -> Any:  # noqa: N807  # of a class
            note(form(_by_reading(properties)))
            return object.__new__(cls)

        base: Any = self.client.package.Entity
        entity: Any = Meta("MyEntity", (base,), {})
        if place == "__new__":
            entity = subclass(base, __new__=__new__)
        kind = self.client.own_kind(EntityResult={"entity_kind": entity})

        def read() -> Any:
            given.clear()
            return self._reads(ports, kind), given.copy()

        assert self.alike(read)[1]

    def _sent(self, call: Connected, post: Any) -> Any:
        """Return the response to a query that a function of an application sends."""
        body = {"query": self.client.package.Query(KIND).to_repr()}
        url = f"{call.datastore._api_root}/projects/{PROJECT}:runQuery"
        return call.complete(post(url, body))

    def test_requests(self, ports: Ports) -> None:
        """Of an application's own, sent by the client's function. Copies of JSON are plain."""

        def send() -> Any:
            with self.client.connected(ports["http"]) as call:
                post = call.datastore._post if self.client.has_post else _session_post(call)
                data = call.complete(self._sent(call, post).json())
            results = data["batch"]["entityResults"]
            copies = copy.deepcopy(results), pickle.loads(pickle.dumps(results))
            kinds = [type(result["entity"]["properties"]) for each in copies for result in each]
            return json.dumps(_by_reading(results)), kinds

        self.alike(send)

    def test_requests_of_others(self, ports: Ports) -> None:
        """Sent through a session of the same library, they have its own responses."""
        lazyentity.patch(self.client.name)
        with self.client.connected(ports["http"]) as call:
            response = self._sent(call, _session_post(call))
            assert type(response).__module__.partition(".")[0] in ("aiohttp", "requests")
            call.complete(response.json())

    def _own_lookup(self) -> Any:
        """Return a method ``lookup`` of an application that sends the request by itself."""
        client = self.client

        def body(datastore: Any, keys: Any) -> tuple[str, Any]:
            url = f"{datastore._api_root}/projects/{PROJECT}:lookup"
            return url, {"keys": [key.to_repr() for key in keys]}

        def post(datastore: Any, url: str, sent: Any) -> Any:
            if client.has_post:
                return datastore._post(url, sent)
            return _session_post(Connected(datastore, None))(url, sent)

        async def look_up_later(datastore: Any, keys: Any) -> Any:
            response = await post(datastore, *body(datastore, keys))
            return datastore._build_lookup_result(await response.json())

        def look_up(datastore: Any, keys: Any) -> Any:
            return datastore._build_lookup_result(post(datastore, *body(datastore, keys)).json())

        return look_up_later if client.is_async else look_up

    def _own_post(self) -> Any:
        """Return a method ``post`` of an application's own session, which calls the library's."""
        post = self.client.session_kind.post

        async def send_later(session: Any, *args: Any, **kwargs: Any) -> Any:
            return await post(session, *args, **kwargs)

        def send(session: Any, *args: Any, **kwargs: Any) -> Any:
            return post(session, *args, **kwargs)

        return send_later if self.client.is_async else send

    @pytest.mark.parametrize("own", ["method", "session"])
    def test_own_methods_and_sessions(self, ports: Ports, own: str) -> None:
        """Before 9.2, reads through them are stock: the session cannot tell who sees the JSON."""
        kind = self.client.package.Datastore
        if own == "method":
            kind = subclass(kind, lookup=self._own_lookup())
        own_post = self._own_post()

        def read() -> list[Any]:
            with self.client.connected(ports["http"], kind=kind) as call:
                if own == "session":
                    session = call.datastore.session
                    session.__class__ = subclass(type(session), post=own_post)
                return entities_of(lookup(self.client, call))

        stock = list(map(form, read()))
        lazyentity.patch(self.client.name)
        found = read()
        assert list(map(form, found)) == stock
        # A missing entity has none.
        properties = [entity.properties for entity in found if entity.properties]
        assert {isinstance(each, LazyProperties) for each in properties} == {self.client.has_post}

    def test_responses(self, ports: Ports) -> None:
        """They are context managers too, take attributes, and compare as in stock."""
        original = self.client.post
        seen: list[Any] = []

        def look(response: Any, entered: Any) -> None:
            response.noted = 1
            seen.append((type(entered), entered.noted, response == entered, bool(response)))

        async def post_later(client: Any, *args: Any, **kwargs: Any) -> Any:
            response = await original(client, *args, **kwargs)
            async with response as entered:
                await entered.read()
                look(response, entered)
            return response

        def post(client: Any, *args: Any, **kwargs: Any) -> Any:
            response = original(client, *args, **kwargs)
            with response as entered:
                look(response, entered)
            return response

        kind = self.client.sending_by(post_later if self.client.is_async else post)

        def read() -> Any:
            seen.clear()
            return self._reads(ports, kind), seen.copy()

        self.alike(read)

    def test_mocks(self, ports: Ports) -> None:
        """Their JSON is not marked: a test may use it again, and change it."""
        entity: Any = {"properties": {"a": {"stringValue": "1"}}}
        found = {"found": [{"entity": entity}]}
        lazyentity.patch(self.client.name)
        with self.client.connected(ports["http"]) as call:
            (received,) = entities_of(self._answered(call, found))
        assert type(entity["properties"]) is dict
        entity["properties"]["a"]["stringValue"] = "2"
        assert (type(received.properties), received.properties) == (dict, {"a": "1"})

    def _answered(self, call: Connected, data: Any) -> Any:
        mocked = mock.AsyncMock if self.client.is_async else mock.Mock
        response = mock.Mock(status=200, json=mocked(return_value=data))
        with mock.patch.object(call.datastore.session, "post", mocked(return_value=response)):
            return lookup(self.client, call)
