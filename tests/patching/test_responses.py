"""Low-level use of read responses: one answers what the stock message answers, and is read-only."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from collections.abc import Callable, Iterable
from typing import Any

import proto
import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.cloud.datastore_v1.types import query_profile as profile_pb2
from google.protobuf import timestamp_pb2
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity.patches import responses
from tests.entity.snapshots import outcome
from tests.patching.order_program import COUNT, KIND

NOT_FINISHED = query_pb2.QueryResultBatch.MoreResultsType.NOT_FINISHED
AT = timestamp_pb2.Timestamp(seconds=1_700_000_000, nanos=7)


def _key(name: str) -> entity_pb2.Key:
    return entity_pb2.Key(
        partition_id={"project_id": "p", "namespace_id": "n"}, path=[{"kind": "K", "name": name}]
    )


def _result(name: str) -> query_pb2.EntityResult:
    return query_pb2.EntityResult(
        entity=entity_pb2.Entity(
            key=_key(name),
            properties={
                "text": entity_pb2.Value(string_value=name, meaning=15),
                "inner": entity_pb2.Value(
                    entity_value=entity_pb2.Entity(
                        properties={"n": entity_pb2.Value(integer_value=1)}
                    )
                ),
            },
        ),
        version=len(name),
        create_time=AT,
        update_time=AT,
        cursor=b"cursor of " + name.encode(),
    )


def _explain_metrics() -> profile_pb2.ExplainMetrics:
    metrics = profile_pb2.ExplainMetrics(execution_stats={"results_returned": 2})
    # proto-plus takes no Struct in its constructors.
    metrics._pb.plan_summary.indexes_used.add()["query_scope"] = "Collection"
    return metrics


_BATCH = query_pb2.QueryResultBatch(
    skipped_results=3,
    skipped_cursor=b"skipped",
    entity_result_type=query_pb2.EntityResult.ResultType.FULL,
    entity_results=[_result("one"), _result("three")],
    end_cursor=b"end",
    more_results=NOT_FINISHED,
    snapshot_version=99,
    read_time=AT,
)

LOOKUPS = {
    "everything": datastore_pb2.LookupResponse(
        found=[_result("one"), _result("three")],
        missing=[query_pb2.EntityResult(entity=entity_pb2.Entity(key=_key("gone")), version=5)],
        deferred=[_key("later"), _key("much later")],
        transaction=b"transaction",
        read_time=AT,
    ),
    "found alone": datastore_pb2.LookupResponse(found=[_result("one")]),
    "deferred alone": datastore_pb2.LookupResponse(deferred=[_key("later")]),
    "nothing": datastore_pb2.LookupResponse(),
}

QUERIES = {
    "everything": datastore_pb2.RunQueryResponse(
        batch=_BATCH,
        query=query_pb2.Query(kind=[query_pb2.KindExpression(name="K")]),
        transaction=b"transaction",
        explain_metrics=_explain_metrics(),
    ),
    "batch alone": datastore_pb2.RunQueryResponse(batch=_BATCH),
    "empty batch": datastore_pb2.RunQueryResponse(batch=query_pb2.QueryResultBatch()),
    "no batch": datastore_pb2.RunQueryResponse(transaction=b"transaction"),
    "nothing": datastore_pb2.RunQueryResponse(),
}

Probe = Callable[[Any], Any]


def _reading(*names: str) -> list[Probe]:
    def reader(name: str) -> Probe:
        def probe(message: Any) -> Any:
            return getattr(message, name), name in message

        probe.__name__ = f"reading {name}"
        return probe

    return [reader(name) for name in names]


def _fresh(message: Any) -> Any:
    """Return the stock message that ``message`` was made of, or stands in for."""
    return message.__class__.deserialize(type(message).serialize(message))


def reads_nothing(message: Any) -> Any:
    return None, message


def is_an_instance(message: Any) -> Any:
    return isinstance(message, proto.Message), message.__class__


def is_equal(message: Any) -> Any:
    fresh = _fresh(message)
    return message == fresh, fresh == message, message != fresh, fresh != message


def is_equal_to_itself(message: Any) -> Any:
    return message == message, message != message


def is_unequal(message: Any) -> Any:
    empty = message.__class__()
    return message == empty, empty == message, message == 5, message is None


def to_json(message: Any) -> Any:
    return type(message).to_json(message, sort_keys=True)


def to_dict(message: Any) -> Any:
    return type(message).to_dict(message)


def to_dict_with_options(message: Any) -> Any:
    return type(message).to_dict(
        message, preserving_proto_field_name=False, use_integers_for_enums=False
    )


def instance_class_methods(message: Any) -> Any:
    """The class's functions also called through the instance's class."""
    kind = message.__class__
    return kind.to_dict(message), kind.to_json(message, sort_keys=True), kind.pb(message)


def to_upb(message: Any) -> Any:
    return type(message).pb(message), message._pb, type(type(message).pb(message)).__name__


def serialised(message: Any) -> Any:
    return message.__class__.deserialize(type(message).serialize(message))


def as_text(message: Any) -> Any:
    return str(message), repr(message), f"{message}"


def truth(message: Any) -> Any:
    return bool(message)


def hashing(message: Any) -> Any:
    return hash(message)


def copied(message: Any) -> Any:
    return copy.copy(message)


def deeply_copied(message: Any) -> Any:
    twin = copy.deepcopy(message)
    return twin == message, twin


def pickled(message: Any) -> Any:
    return pickle.loads(pickle.dumps(message))


def merged_into_another(message: Any) -> Any:
    return message.__class__(message), message.__class__(message, transaction=b"other")


def copied_into_another(message: Any) -> Any:
    other = message.__class__()
    message.__class__.copy_from(other, message)
    return other


def reading_what_is_not_there(message: Any) -> Any:
    return message.no_such_field


def asking_for_what_is_not_there(message: Any) -> Any:
    return hasattr(message, "no_such_field"), "no_such_field" in message


ANY = [
    *(reads_nothing, is_an_instance, is_equal, is_equal_to_itself, is_unequal),
    *(to_json, to_dict, to_dict_with_options, instance_class_methods, to_upb, serialised),
    *(as_text, truth, hashing, copied, deeply_copied, pickled),
    *(merged_into_another, copied_into_another, asking_for_what_is_not_there),
    reading_what_is_not_there,
]


def results_of_lookup(message: Any) -> Any:
    return _results(message.found), _results(message.missing)


def _results(results: Any) -> Any:
    return [
        (
            *(result, result.entity, result.entity.key, len(result.entity.properties)),
            *(result.version, result.create_time, result.update_time, result.cursor),
            *(truth(result), truth(result.entity), as_text(result.entity), to_json(result)),
            *(copied(result), is_equal(result), is_equal(result.entity), to_dict(result.entity)),
            *("entity" in result, "cursor" in result, "key" in result.entity),
            *(result.entity._pb.HasField("key"), to_upb(result.entity)),
            [value.string_value for _, value in sorted(result.entity.properties.items())],
        )
        for result in results
    ]


def lookup_results_as_sequences(message: Any) -> Any:
    found = message.found
    return (
        *(len(found), bool(found), list(reversed(found)), [found[-1] for _ in found]),
        *(list(found) == list(_fresh(message).found), found == _fresh(message).found),
        [result.entity.key.path[0].name for result in found],
    )


LOOKUP = [
    *ANY,
    *_reading("found", "missing", "deferred", "transaction", "read_time"),
    *(results_of_lookup, lookup_results_as_sequences),
]


def results_of_query(message: Any) -> Any:
    return _results(message.batch.entity_results)


def batch(message: Any) -> Any:
    part = message.batch
    return [
        *(part.skipped_results, part.skipped_cursor, part.entity_result_type, part.end_cursor),
        *(part.more_results, part.snapshot_version, part.read_time, len(part.entity_results)),
        *("end_cursor" in part, "read_time" in part, "batch" in message),
        *(truth(part), as_text(part), to_json(part), to_dict(part), to_upb(part), copied(part)),
        *(is_equal(part), is_an_instance(part), deeply_copied(part), pickled(part)),
    ]


def batch_is_used_in_another(message: Any) -> Any:
    return datastore_pb2.RunQueryResponse(batch=message.batch)


def metrics(message: Any) -> Any:
    return (
        bool(message.explain_metrics),
        message.explain_metrics.plan_summary,
        message.explain_metrics.execution_stats.results_returned,
    )


QUERY = [
    *ANY,
    *_reading("batch", "query", "transaction", "explain_metrics"),
    *(results_of_query, batch, batch_is_used_in_another),
    metrics,
]


def _comparable(result: Any) -> Any:
    """Return ``result`` with stand-ins, proto-plus and upb messages as plain data."""
    if isinstance(result, proto.Message):
        return [result.__class__.__name__, type(result).to_dict(result)]
    if isinstance(result, str | bytes | type):
        return result
    if isinstance(result, dict):
        return {name: _comparable(value) for name, value in result.items()}
    if isinstance(result, Iterable):
        return [_comparable(item) for item in result]
    if hasattr(result, "DESCRIPTOR") and hasattr(result, "SerializeToString"):
        return [result.DESCRIPTOR.full_name, result.SerializeToString(deterministic=True)]
    return result


def _check(probe: Probe, raw: bytes, real: Any, stand_in: Any) -> None:
    def asked(message: Any) -> Any:
        return outcome(lambda: _comparable(probe(message)))

    expected = asked(real.deserialize(raw))
    assert asked(stand_in.deserialize(raw)) == expected
    # What was asked before makes no difference.
    for before in (to_dict, results_of_lookup if real is datastore_pb2.LookupResponse else batch):
        message = stand_in.deserialize(raw)
        before(message)
        assert asked(message) == expected


@pytest.mark.parametrize("probe", LOOKUP, ids=lambda probe: probe.__name__)
@pytest.mark.parametrize("response", LOOKUPS.values(), ids=LOOKUPS)
def test_lookup_responses(response: Any, probe: Probe) -> None:
    """A lookup response answers, or refuses, as the stock message of the same bytes does."""
    real = datastore_pb2.LookupResponse
    _check(probe, real.serialize(response), real, responses.LookupResponse)


@pytest.mark.parametrize("probe", QUERY, ids=lambda probe: probe.__name__)
@pytest.mark.parametrize("response", QUERIES.values(), ids=QUERIES)
def test_query_responses(response: Any, probe: Probe) -> None:
    """A query response answers, or refuses, as the stock message of the same bytes does."""
    real = datastore_pb2.RunQueryResponse
    _check(probe, real.serialize(response), real, responses.RunQueryResponse)


def _all_stand_ins() -> dict[str, Any]:
    lookup = responses.LookupResponse.deserialize(
        datastore_pb2.LookupResponse.serialize(LOOKUPS["everything"])
    )
    query = responses.RunQueryResponse.deserialize(
        datastore_pb2.RunQueryResponse.serialize(QUERIES["everything"])
    )
    return {
        "lookup response": lookup,
        "query response": query,
        "batch": query.batch,
        "result": lookup.found[0],
        "missing result": lookup.missing[0],
        "result of a query": query.batch.entity_results[0],
        "entity": lookup.found[0].entity,
        "upb entity": lookup.found[0].entity._pb,
    }


def _fields(message: Any) -> list[str]:
    kind = message.__class__
    descriptor = kind.DESCRIPTOR if hasattr(kind, "DESCRIPTOR") else kind.pb().DESCRIPTOR
    return [field.name for field in descriptor.fields]


@pytest.mark.parametrize("name", _all_stand_ins())
class TestReadOnly:
    """A change would be lost on whoever asks another part of the response; so it is refused."""

    def test_nothing_can_be_set_or_deleted(self, name: str) -> None:
        """Neither a field nor anything else; the error names it."""
        message = _all_stand_ins()[name]
        fields = _fields(message)
        assert len(fields) > 1
        for field in (*fields, "no_field"):
            with pytest.raises(AttributeError, match=f"'{field}'"):
                setattr(message, field, None)
            with pytest.raises(AttributeError, match=f"'{field}'"):
                delattr(message, field)
        assert message == copy.copy(_all_stand_ins()[name])

    def test_a_copy_can_be_changed(self, name: str) -> None:
        """copy.copy() gives the client's own message, independent of what it was copied from."""
        message = _all_stand_ins()[name]
        changed = copy.copy(message)
        for field in _fields(message):
            if isinstance(changed, proto.Message):
                delattr(changed, field)
            else:
                changed.ClearField(field)
        assert changed == message.__class__()
        assert message != changed
        assert message == copy.copy(_all_stand_ins()[name])

    def test_results_are_tuples(self, name: str) -> None:
        """The sequences of results of a response cannot be changed either."""
        message = _all_stand_ins()[name]
        for field in ("found", "missing", "entity_results"):
            if field in _fields(message):
                assert type(getattr(message, field)) is tuple


@pytest.mark.parametrize(
    ("response", "stand_in"),
    [
        (LOOKUPS["everything"], responses.LookupResponse),
        (QUERIES["everything"], responses.RunQueryResponse),
    ],
    ids=["lookup", "query"],
)
def test_truncated_responses_are_refused_at_once(response: Any, stand_in: Any) -> None:
    """As by stock, a response that is cut off is a DecodeError where it is received."""
    whole = type(response).serialize(response)
    refused = 0
    for length in range(len(whole)):
        try:
            expected = type(response).deserialize(whole[:length])
        except DecodeError:
            refused += 1
            with pytest.raises(DecodeError):
                stand_in.deserialize(whole[:length])
        else:
            assert stand_in.deserialize(whole[:length]) == expected
    # Between two fields a message can be cut unnoticed, but nowhere else.
    assert refused > len(whole) * 0.9


class TestOverTheWire:
    """What the API object of a real client returns while patched."""

    def test_lookup(self, client: datastore.Client) -> None:
        keys = [client.key(KIND, number).to_protobuf() for number in (1, 77)]
        request = {"project_id": client.project, "keys": keys}
        stock = client._datastore_api.lookup(request=request)
        lazyentity.patch()
        lazy = client._datastore_api.lookup(request=request)
        assert isinstance(lazy, datastore_pb2.LookupResponse)
        assert len(lazy.found) == len(lazy.missing) == 1
        assert lazy.found[0].entity == stock.found[0].entity
        assert lazy.missing[0].entity == stock.missing[0].entity
        assert lazy.deferred == stock.deferred == []
        same = copy.copy(lazy)
        # The time of the read differs, as between any two reads.
        same.read_time = stock.read_time
        assert same == stock

    def test_run_query(self, client: datastore.Client) -> None:
        request = {
            "project_id": client.project,
            "partition_id": {"project_id": client.project},
            "query": {"kind": [{"name": KIND}]},
        }
        stock = client._datastore_api.run_query(request=request)
        lazyentity.patch()
        lazy = client._datastore_api.run_query(request=request)
        assert isinstance(lazy, datastore_pb2.RunQueryResponse)
        assert len(lazy.batch.entity_results) == COUNT
        same = copy.copy(lazy)
        same.batch.read_time = stock.batch.read_time
        assert same == stock

    def test_other_rpcs_are_untouched(self, client: datastore.Client) -> None:
        """All RPCs but the two reads give the stock message itself."""
        lazyentity.patch()
        response = client._datastore_api.begin_transaction(request={"project_id": client.project})
        assert type(response) is datastore_pb2.BeginTransactionResponse
        response = client._datastore_api.rollback(
            request={"project_id": client.project, "transaction": response.transaction}
        )
        assert type(response) is datastore_pb2.RollbackResponse


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (responses.LookupResponse, datastore_pb2.LookupResponse(found=[_result("a")])),
        (
            responses.RunQueryResponse,
            datastore_pb2.RunQueryResponse(batch={"entity_results": [_result("a")]}),
        ),
    ],
)
def test_a_dropped_response_is_gone_at_once(kind: Any, message: Any) -> None:
    """Nothing in a response refers back to it: its bytes do not wait for the garbage collector."""
    raw = type(message).serialize(message)
    gc.disable()
    try:
        before = sys.getrefcount(raw)
        response = kind.deserialize(raw)
        is_lookup = kind is responses.LookupResponse
        results = response.found if is_lookup else response.batch.entity_results
        assert results[0].entity.to_entity()["text"] == "a"
        assert sys.getrefcount(raw) > before
        del response, results
        assert sys.getrefcount(raw) == before
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "kind",
    [
        responses.LookupResponse,
        responses.RunQueryResponse,
        responses.QueryResultBatch,
        responses.EntityResult,
        responses.EntityHandle,
        responses.EntityMessage,
    ],
)
def test_calling_the_class_of_one_makes_the_real_message(kind: Any) -> None:
    """``type(message)()`` is an empty message."""
    made = kind()
    assert type(made) is kind._real
    assert made == kind._real()


def test_an_empty_message_is_converted() -> None:
    """What somebody made of the class of a message is an entity like any other."""
    lazyentity.patch()
    assert helpers.entity_from_protobuf(responses.EntityHandle()) == datastore.Entity()
