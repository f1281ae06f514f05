"""``put_multi`` of a patched client does what the stock client does, however it is called."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from google.cloud import datastore
from google.cloud.datastore import batch as batch_module
from google.cloud.datastore import helpers
from google.cloud.datastore import transaction as transaction_module
from google.cloud.datastore_v1.types import entity as entity_pb2

import lazyentity
from lazyentity.patches.datastore import batches
from tests.bulk.services import RecordingService

Client = datastore.Client

pytestmark = [
    pytest.mark.any_backend,
    pytest.mark.parametrize("transport", ["grpc"]),
]

KIND = "Put"


@pytest.fixture
def client(recorded: Client) -> Client:
    return recorded


class _SubKey(datastore.Key):
    pass


# The client announces types, but annotates no constructors.
_Key: Any = _SubKey


class _Entity(datastore.Entity):
    """As frameworks have them."""


def _entity(client: Client, *path: Any, kind: Any = datastore.Entity) -> Any:
    entity = kind(client.key(KIND, *path), ["text"])
    entity.update(count=3, text="t" * 200)
    return entity


def _keyed(key: Any) -> Any:
    entity = datastore.Entity(key)
    entity["count"] = 1
    return entity


def _other(client: Client, **options: Any) -> Any:
    given = {"project": client.project, "database": client.database, **options}
    return _keyed(datastore.Key(KIND, 1, **given))


def _read(client: Client) -> Any:
    client.put(_entity(client, 1))
    return client.get(client.key(KIND, 1))


class _Zone(datetime.tzinfo):
    """Runs code of the caller while an entity is encoded."""

    def __init__(self, run: Callable[[], object]) -> None:
        self._run = run

    def utcoffset(self, _: Any) -> datetime.timedelta:
        self._run()
        return datetime.timedelta(hours=1)

    dst = tzname = lambda *_: None  # not asked for


def _running(client: Client) -> Any:
    """The second entity changes the list and the others while it is encoded."""
    entities = [_entity(client, number) for number in (1, 2, 3)]

    def run() -> None:
        entities[0]["count"] = entities[2]["count"] = 99
        if len(entities) == 3:
            entities.append(_entity(client, 4))

    entities[1]["when"] = datetime.datetime(2024, 1, 2, tzinfo=_Zone(run))
    return entities


def _bad(client: Client) -> Any:
    entity = _entity(client, 2)
    entity["bad"] = object()
    return [_entity(client, 1), entity]


def _bad_read(client: Client) -> Any:
    entity = _read(client)
    entity["bad"] = object()
    return [entity]


GIVEN: dict[str, Callable[[Client], Any]] = {
    "complete": lambda client: [_entity(client, 1), _entity(client, "name")],
    "partial": lambda client: [_entity(client), _entity(client, 1), _entity(client)],
    "twice the same": lambda client: [_entity(client)] * 2,
    "a tuple": lambda client: (_entity(client, 1),),
    "an iterator": lambda client: iter([_entity(client, 1), _entity(client)]),
    "a dict": lambda client: {1: _entity(client, 1)}.values(),
    "none": lambda client: [],
    "None": lambda client: None,
    "an entity": lambda client: _entity(client, 1),
    "a number": lambda client: 5,
    "not an entity": lambda client: [_entity(client, 1), {"count": 1}],
    "None among them": lambda client: [None],
    "no key": lambda client: [_entity(client, 1), _keyed(None)],
    "another project": lambda client: [_entity(client, 1), _other(client, project="other")],
    "another database": lambda client: [_other(client, database="other")],
    "the empty database": lambda client: [_other(client, database="")],
    "a key of a subclass": lambda client: [_keyed(_Key(KIND, 1, project=client.project))],
    "an entity of a subclass": lambda client: [_entity(client, 1, kind=_Entity)],
    "a read entity": lambda client: [_read(client), _entity(client, 2)],
    "a bad value": _bad,
    "a bad value in a read entity": _bad_read,
    "running code": _running,
}


def _outcome(
    client: Client, service: RecordingService, give: Callable[[Client], Any], put: Any
) -> Any:
    entities = give(client)
    service.forget()
    try:
        result = put(client, entities)
    except Exception as error:  # noqa: BLE001  # compared
        result = type(error), str(error)
    commits = service.commits()
    for commit in commits:
        for mutation in commit.mutations:
            for entity in (mutation.insert, mutation.upsert):
                # A server gives each another one.
                if mutation.HasField("insert"):
                    assert not entity.key.path or not entity.key.path[-1].id
    partial = [
        bool(each.key and each.key.is_partial)
        for each in (entities if isinstance(entities, list | tuple) else ())
        if isinstance(each, datastore.Entity)
    ]
    return result, commits, partial


def _put_multi(client: Client, entities: Any) -> Any:
    return client.put_multi(entities)


def _in_batch(client: Client, entities: Any) -> Any:
    with client.batch() as batch:
        client.put_multi(entities)
        return len(batch.mutations)


def _in_transaction(client: Client, entities: Any) -> Any:
    with client.transaction():
        return client.put_multi(entities)


class _Batch(batch_module.Batch):
    put_entities: list[Any]

    def put(self, entity: Any) -> None:
        vars(self).setdefault("put_entities", []).append(entity)
        super().put(entity)  # type: ignore[no-untyped-call]  # upstream is untyped


def _by_subclass(client: Client, entities: Any) -> Any:
    """A client whose batches are of a subclass."""
    made = []

    def batch() -> Any:
        made.append(_Batch(client))  # type: ignore[no-untyped-call]  # upstream is untyped
        return made[0]

    with mock.patch.object(client, "batch", batch):
        result = client.put_multi(entities)
    puts = [len(vars(each).get("put_entities", ())) for each in made]
    return result, puts, [len(each.mutations) for each in made]


PUT = [_put_multi, _in_batch, _in_transaction, _by_subclass]


@pytest.mark.parametrize("put", PUT)
@pytest.mark.parametrize("give", GIVEN.values(), ids=GIVEN)
def test_as_stock(
    client: Client, service: RecordingService, give: Callable[[Client], Any], put: Any
) -> None:
    """The same commits, completed keys and errors."""
    stock = _outcome(client, service, give, put)
    lazyentity.patch("datastore")
    patched = _outcome(client, service, give, put)
    assert patched == stock


def _fake(entity: Any) -> Any:
    return entity_pb2.Entity(properties={"fake": {"boolean_value": True}})


def _changing(name: str) -> Callable[[Client], Any]:
    """Return what gives an iterator that changes something between the entities."""

    def give(client: Client) -> Any:
        yield _entity(client, 1)
        first = _entity(client, 2)
        if name == "encoding":
            with mock.patch.object(helpers, "entity_to_protobuf", _fake):
                yield first
        elif name == "put":
            calls: list[Any] = []
            with mock.patch.object(batch_module.Batch, "put", lambda *given: calls.append(given)):
                yield first
            assert len(calls) == 1
        else:
            with mock.patch.object(client, "project", "other"):
                yield first
        yield _entity(client, 3)

    return give


@pytest.mark.parametrize("name", ["encoding", "put", "project"])
def test_an_iterator_that_changes_the_client(
    client: Client, service: RecordingService, name: str
) -> None:
    """The patched client asks for each entity which functions it may pass over."""
    stock = _outcome(client, service, _changing(name), _put_multi)
    lazyentity.patch("datastore")
    assert _outcome(client, service, _changing(name), _put_multi) == stock


@pytest.mark.parametrize("kind", [batch_module.Batch, transaction_module.Transaction])
def test_a_batch_that_is_asked_whether_it_takes_mutations(client: Client, kind: Any) -> None:
    """A replacement of the method, which later versions have, is called as often as by stock."""
    original, calls = getattr(kind, "_allow_mutations", None), []

    def allow(batch: Any) -> Any:
        assert original is not None
        calls.append(batch)
        return original(batch)

    def counted() -> int:
        calls.clear()
        client.put_multi([_entity(client, 1), _entity(client, 2)])
        with client.transaction() as transaction:
            transaction.put(_entity(client, 3))
        return len(calls)

    with mock.patch.object(kind, "_allow_mutations", allow, create=original is None):
        stock = counted()
        assert bool(stock) == (original is not None)
        lazyentity.patch("datastore")
        assert counted() == stock


def test_the_current_batch_is_asked_for_once(client: Client) -> None:
    class Asked(datastore.Client):
        @property
        def current_batch(self) -> Any:
            asked.append(1)
            return super().current_batch

    def counts() -> list[int]:
        found = []
        for entities in ([], [_entity(client, 1)]):
            asked.clear()
            client.__class__ = Asked
            client.put_multi(entities)
            found.append(len(asked))
        return found

    asked: list[int] = []
    stock = counts()
    assert stock == [0, 1]
    lazyentity.patch("datastore")
    assert counts() == stock


def test_it_is_put_at_once(client: Client) -> None:
    """Without the batch's own method; with it, if an entity is not known."""
    lazyentity.patch("datastore")
    with mock.patch.object(batches, "key_is_partial", return_value=False) as asked:
        client.put_multi([_entity(client, 1), _keyed(_Key(KIND, 2, project=client.project))])
        client.put(_entity(client, 1))
    assert asked.call_count == 2


class _Closed(batch_module.Batch):
    def _allow_mutations(self) -> bool:
        return False


def test_a_batch_that_is_closed(client: Client) -> None:
    """A batch of somebody's own class says for itself whether it takes entities."""
    outcomes = []
    for patches in (False, True):
        if patches:
            lazyentity.patch("datastore")
        batch: Any = _Closed(client)  # type: ignore[no-untyped-call]  # upstream is untyped
        batch.begin()
        try:
            batch.put(_entity(client, 1))
            outcomes.append("")
        except ValueError as error:
            outcomes.append(str(error))
        assert len(batch.mutations) == (not outcomes[-1])
        batch = client.batch()
        with pytest.raises(ValueError, match="must be in progress"):
            batch.put(_entity(client, 1))
    assert outcomes[0] == outcomes[1]


REPLACED = {
    "Client.batch": (datastore.Client, "batch"),
    "Batch.__init__": (batch_module.Batch, "__init__"),
    "Batch.begin": (batch_module.Batch, "begin"),
    "Batch.put": (batch_module.Batch, "put"),
    "Batch.commit": (batch_module.Batch, "commit"),
    "Batch._commit": (batch_module.Batch, "_commit"),
    "insert": (batch_module.Batch, "_add_partial_key_entity_pb"),
    "upsert": (batch_module.Batch, "_add_complete_key_entity_pb"),
    "assign": (batch_module, "_assign_entity_to_pb"),
    "encoding": (helpers, "entity_to_protobuf"),
}


@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
def test_a_replaced_question_is_asked(
    client: Client,
    service: RecordingService,
    monkeypatch: pytest.MonkeyPatch,
    is_before: bool,
) -> None:
    """Whether a key is partial, somebody else may say; as often as by stock."""
    if not is_before:
        lazyentity.patch("datastore")
    asked = mock.PropertyMock(return_value=True)
    with monkeypatch.context() as replaced:
        replaced.setattr(datastore.Key, "is_partial", asked)
        lazyentity.patch("datastore")
        asked.reset_mock()
        client.put_multi([_entity(client, f"one {is_before}")])
        with client.batch():
            client.put(_entity(client, f"two {is_before}"))
        assert asked.call_count == 2
        lazyentity.unpatch()
    commits = service.commits()
    assert [one.HasField("insert") for commit in commits for one in commit.mutations] == [True] * 2


@pytest.mark.parametrize("name", REPLACED)
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
def test_replaced_functions_are_called(
    client: Client, service: RecordingService, name: str, is_before: bool
) -> None:
    """As often as by stock, whether they were replaced before or after the client is patched."""
    holder, attribute = REPLACED[name]

    def use() -> int:
        replaced = getattr(holder, attribute)
        with mock.patch.object(holder, attribute, autospec=True, side_effect=replaced) as spy:
            if is_before and patches:
                lazyentity.patch("datastore")
            client.put_multi([_entity(client, 1), _entity(client), _entity(client, 2)])
            lazyentity.unpatch()
        return spy.call_count

    patches = False
    stock = use()
    patches = True
    if not is_before:
        lazyentity.patch("datastore")
    with mock.patch("warnings.warn"):
        assert use() == stock > 0
    assert [len(call.message.mutations) for call in service.calls] == [3, 3]
