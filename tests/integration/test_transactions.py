"""Reads inside transactions, and the outcomes of the transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.api_core.exceptions import Aborted, Conflict
from google.cloud import datastore
from google.cloud.datastore.transaction import Transaction

from tests.integration.conftest import Sides
from tests.integration.rewrites import stored
from tests.support.clients import BEGINS_LATER
from tests.support.entities import fill

Client = datastore.Client

KIND = "Account"


def _key(client: Client, number: int) -> datastore.Key:
    key: datastore.Key = client.key("Bank", "b", KIND, number)
    return key


def _prepare(client: Client) -> None:
    """Store two accounts afresh, and nothing else."""
    client.delete_multi([_key(client, number) for number in (1, 2, 3)])
    for number in (1, 2):
        account = fill(datastore.Entity(_key(client, number)), number)
        account["balance"] = 100
        client.put(account)


def _accounts(client: Client) -> Any:
    return client.query(kind=KIND, ancestor=client.key("Bank", "b"), order=["__key__"])


def _balances(client: Client) -> list[int]:
    keys = [_key(client, number) for number in (1, 2)]
    return [entity["balance"] for entity in sorted(client.get_multi(keys), key=_id)]


def _id(entity: datastore.Entity) -> Any:
    return entity.key.id


def _empty_account(client: Client, transaction: Transaction) -> None:
    """Read the first account inside a transaction, and write it with nothing left."""
    entity = client.get(_key(client, 1))
    entity["balance"] = 0
    transaction.put(entity)


OPTIONS: dict[str, dict[str, Any]] = {
    "at once": {},
    "later": {"begin_later": True},
    "read-only": {"read_only": True},
    "read-only, later": {"read_only": True, "begin_later": True},
}
if not BEGINS_LATER:
    del OPTIONS["later"], OPTIONS["read-only, later"]


def _get_multi(client: Client, _transaction: Transaction) -> Any:
    missing: list[Any] = []
    # No more than any server returns at once: in a transaction that begins later, the client
    # requests deferred keys in a second transaction, and fails.
    return client.get_multi([_key(client, number) for number in (1, 99)], missing=missing), missing


def _query_after_get(client: Client, transaction: Transaction) -> Any:
    first, begun_with = client.get(_key(client, 1)), transaction.id
    rest = list(_accounts(client).fetch())
    return first, rest, transaction.id == begun_with


READS: dict[str, Callable[[Client, Transaction], Any]] = {
    "get": lambda client, _: [client.get(_key(client, number)) for number in (1, 99)],
    "get_multi": _get_multi,
    "query": lambda client, _: list(_accounts(client).fetch()),
    "query after get": _query_after_get,
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
class TestReads:
    """Reads in every kind of transaction."""

    @pytest.mark.parametrize("read", READS.values(), ids=READS)
    def test_read(
        self, sides: Sides, options: dict[str, Any], read: Callable[[Client, Transaction], Any]
    ) -> None:
        def scenario(client: Client) -> Any:
            with client.transaction(**options) as transaction:
                # A transaction that is begun later has its id from the first read.
                return read(client, transaction), transaction.id is not None

        found, has_begun = sides.check(scenario, _prepare)
        assert has_begun or read is READS["query"]
        assert read is not _query_after_get or found[2]

    def test_read_only_writes_are_refused(self, sides: Sides, options: dict[str, Any]) -> None:
        def write(client: Client) -> Any:
            with client.transaction(**options) as transaction:
                _empty_account(client, transaction)
            return _balances(client)

        sides.check(write, _prepare, works="read_only" not in options)


def _transfer(client: Client, **options: Any) -> Any:
    with client.transaction(**options) as transaction:
        first, second = sorted(
            client.get_multi([_key(client, number) for number in (1, 2)]), key=_id
        )
        first["balance"] -= 30
        second["balance"] += 30
        client.put_multi([first, second])
    return transaction._status


@pytest.mark.parametrize(
    "options", [OPTIONS[name] for name in ("at once", "later") if name in OPTIONS]
)
class TestReadModifyWrite:
    """Transactions that write the entities that they read."""

    def test_commit(self, sides: Sides, options: dict[str, Any]) -> None:
        """The writes arrive, with all that was not touched as it was."""
        status = sides.check(lambda client: _transfer(client, **options), _prepare)
        assert status == Transaction._FINISHED
        assert _balances(sides.client) == [70, 130]

        _prepare(sides.client)
        _transfer(sides.client, **options)
        expected = stored(sides.client)
        _prepare(sides.client)
        with sides.lazily() as client:
            _transfer(client, **options)
        assert stored(sides.client) == expected

    def test_rollback(self, sides: Sides, options: dict[str, Any]) -> None:
        """Nothing arrives of a transaction that ended with an exception, or was rolled back."""

        def fail(client: Client) -> Any:
            with client.transaction(**options) as transaction:
                _empty_account(client, transaction)
                raise LookupError("changed my mind")

        raised = sides.check(fail, _prepare, works=False)
        assert raised.kind is LookupError
        assert _balances(sides.client) == [100, 100]

        def roll_back(client: Client) -> Any:
            transaction = client.transaction(**options)
            transaction.begin()
            entity = client.get(_key(client, 1), transaction=transaction)
            entity["balance"] = 0
            transaction.put(entity)
            transaction.rollback()
            return _balances(client)

        assert sides.check(roll_back, _prepare) == [100, 100]

    def test_conflict(self, sides: Sides, options: dict[str, Any]) -> None:
        """A transaction is aborted if another one changed an entity that it read."""

        def collide(client: Client) -> Any:
            with client.transaction(**options) as transaction:
                entity = client.get(_key(client, 1))
                with client.transaction() as other:
                    # Beside the first, not within: a client has a stack of transactions.
                    changed = datastore.Entity(_key(client, 1))
                    changed["balance"] = 55
                    other.put(changed)
                entity["balance"] = 0
                transaction.put(entity)

        raised = sides.check(collide, _prepare, works=False)
        if sides.complete:
            # Over HTTP the client knows the status code only, which several errors share.
            assert raised.kind in (Aborted, Conflict)
            assert sides.client.get(_key(sides.client, 1))["balance"] == 55

    def test_insert_and_delete(self, sides: Sides, options: dict[str, Any]) -> None:
        """New entities and deletions go with the changed ones."""

        def work(client: Client) -> Any:
            with client.transaction(**options) as transaction:
                entity = client.get(_key(client, 1))
                new = datastore.Entity(_key(client, 3))
                new.update(entity)
                new["embedded"] = entity
                transaction.put(new)
                transaction.delete(entity.key)
            return list(_accounts(client).fetch())

        found = sides.check(work, _prepare)
        assert [entity.key.id for entity in found] == [2, 3]
