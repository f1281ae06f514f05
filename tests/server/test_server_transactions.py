"""Transactions, through the stock client over both transports."""

from __future__ import annotations

import datetime

import pytest
from google.api_core import exceptions
from google.cloud import datastore
from google.cloud.datastore.query import PropertyFilter
from google.cloud.datastore_v1.types import datastore as datastore_types

from lazyentity.bench.server import store
from lazyentity.bench.server.errors import DatastoreError
from lazyentity.bench.server.keys import Scope
from lazyentity.bench.server.process import LoopbackServer

from .conftest import MakeClient, Put

pytestmark = pytest.mark.any_backend


@pytest.fixture
def rival(
    client: datastore.Client, make_client: MakeClient, server: LoopbackServer
) -> datastore.Client:
    """Another client of the same project."""
    return make_client(server, client.project)


def _set(client: datastore.Client, key: datastore.Key, value: int) -> None:
    entity = datastore.Entity(key)
    entity["a"] = value
    client.put(entity)


def test_writes_without_reads(client: datastore.Client, rival: datastore.Client, put: Put) -> None:
    """A transaction's writes are visible once it has committed.

    Writing without reading never aborts: the last commit wins. It needs no begin.
    """
    key = put("K", 1, a=1).key
    with client.transaction():
        entity = client.get(key)
        entity["a"] += 1
        client.put(entity)
    assert client.get(key)["a"] == 2
    for begin_later in (False, True):
        with client.transaction(begin_later=begin_later):
            _set(client, key, 3)
            _set(rival, key, 4)
        assert client.get(key)["a"] == 3


@pytest.mark.parametrize("begin_later", [False, True])
@pytest.mark.parametrize("existing", [False, True])
def test_a_changed_read_aborts(
    client: datastore.Client, rival: datastore.Client, put: Put, existing: bool, begin_later: bool
) -> None:
    """A commit fails with ABORTED when an entity that was read, or missed, has changed since."""
    key = client.key("K", 1)
    if existing:
        put("K", 1, a=1)

    def attempt() -> None:
        with client.transaction(begin_later=begin_later):
            client.get(key)
            _set(rival, key, 5)
            _set(client, key, 6)

    # HTTP has one code for ABORTED and ALREADY_EXISTS.
    with pytest.raises(exceptions.Conflict, match="changed by another commit"):
        attempt()
    assert client.get(key)["a"] == 5


def test_a_changed_query_aborts(
    client: datastore.Client, rival: datastore.Client, put: Put
) -> None:
    """A new entity that a transaction's query would have found is a conflict; others are not."""
    put("K", 1, a=1)

    def count_and_write(other: int) -> None:
        with client.transaction():
            query = client.query(kind="K")
            query.add_filter(filter=PropertyFilter("a", "=", 1))
            found = list(query.fetch())
            _set(rival, client.key("K", other), other)
            _set(client, client.key("Count", 1), len(found))

    count_and_write(2)
    with pytest.raises(exceptions.Conflict):
        count_and_write(1)


def test_reads_see_the_state_at_the_beginning(
    client: datastore.Client, rival: datastore.Client, put: Put
) -> None:
    """Lookups and queries inside a transaction see neither later commits nor its own writes."""
    changed = put("K", 1, a=1).key
    deleted = put("K", 2, a=1).key
    added = client.key("K", 3)
    with client.transaction(read_only=True):
        client.get(changed)
        _set(rival, changed, 5)
        rival.delete(deleted)
        _set(rival, added, 5)
        seen = client.get_multi([changed, deleted, added])
        assert [(entity.key.id, entity["a"]) for entity in seen] == [(1, 1), (2, 1)]
        queried = client.query(kind="K").fetch()
        assert [(entity.key.id, entity["a"]) for entity in queried] == [(1, 1), (2, 1)]
    assert [entity["a"] for entity in client.get_multi([changed, deleted, added])] == [5, 5]


def _ask(client: datastore.Client, method: str, **fields: object) -> object:
    request = {"project_id": client.project, **fields}
    return getattr(client._datastore_api, method)(request=request)


def test_rollback_writes_nothing(client: datastore.Client, put: Put) -> None:
    """A transaction that is rolled back leaves all as it was, and is over."""
    key = put("K", 1, a=1).key
    transaction = client.transaction()
    transaction.begin()
    identifier = transaction.id
    transaction.put(client.get(key))
    transaction.rollback()
    assert client.get(key)["a"] == 1
    with pytest.raises(exceptions.BadRequest, match="has ended"):
        _ask(client, "rollback", transaction=identifier)


def test_read_only_transactions_cannot_write(client: datastore.Client) -> None:
    """A commit with mutations in a read-only transaction is INVALID_ARGUMENT."""
    transaction = client.transaction(read_only=True)
    transaction.begin()
    written = {"mode": "TRANSACTIONAL", "transaction": transaction.id}
    deletion = {"delete": client.key("K", 1).to_protobuf()}
    with pytest.raises(exceptions.BadRequest, match="read-only"):
        _ask(client, "commit", mutations=[deletion], **written)


def test_transactions_belong_to_a_project(
    client: datastore.Client, make_client: MakeClient, server: LoopbackServer
) -> None:
    """A transaction's id is unknown in another project, and anywhere once it is over."""
    transaction = client.transaction()
    transaction.begin()
    identifier = transaction.id
    with pytest.raises(exceptions.BadRequest, match="unknown"):
        _ask(make_client(server), "rollback", transaction=identifier)
    transaction.commit()
    keys = [client.key("K", 1).to_protobuf()]
    with pytest.raises(exceptions.BadRequest, match="unknown"):
        _ask(client, "lookup", read_options={"transaction": identifier}, keys=keys)


def test_a_read_begins_a_transaction(client: datastore.Client, put: Put) -> None:
    """With begin_later the first lookup, or query, gives the transaction its id."""
    key = put("K", 1, a=1).key
    with client.transaction(begin_later=True) as transaction:
        before = transaction.id
        client.get(key)
        assert (before, bool(transaction.id)) == (None, True)
    with client.transaction(begin_later=True):
        assert [entity["a"] for entity in client.query(kind="K").fetch()] == [1]
        _set(client, key, 2)
    assert client.get(key)["a"] == 2


def test_transactions_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that its client never ended is unknown once its lifetime is over."""
    made = store.Store()
    scope = Scope("p", "")
    options = datastore_types.TransactionOptions.pb()()
    alive = made.begin(options, scope)
    monkeypatch.setattr(store, "LIFETIME_SECONDS", -1.0)
    expired = made.begin(options, scope)
    assert made.transaction(alive.id, scope) is alive
    with pytest.raises(DatastoreError, match="has expired"):
        made.transaction(expired.id, scope)
    made.begin(options, scope)
    assert len(made._open) == 2


def test_past_states_are_not_kept(client: datastore.Client) -> None:
    """Reading at a given time is UNIMPLEMENTED."""
    then = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    with pytest.raises(exceptions.MethodNotImplemented, match="read_time"):
        client.get(client.key("K", 1), read_time=then)
