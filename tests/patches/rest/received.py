"""Entities in the JSON of REST responses, as Hypothesis generates them."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from tests.support.clients import PROJECT

_names = st.text(st.characters(codec="utf-8"), max_size=8)
_integers = st.integers(-(2**63), 2**63 - 1).map(str) | st.integers(-(2**63), 2**63 - 1)
_doubles = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["NaN", "-Infinity"])
_times = st.datetimes().map(lambda time: f"{time.isoformat()}Z") | st.sampled_from(
    ["2024-02-29T23:59:59.123456789Z", "0001-01-01T00:00:00Z"]
)
_points = st.fixed_dictionaries({"latitude": _doubles, "longitude": _doubles})
_blobs = st.binary(max_size=8).map(lambda raw: base64.b64encode(raw).decode())
_steps = st.fixed_dictionaries(
    {"kind": st.just("Kind")}, optional={"id": st.just("7")}
) | st.fixed_dictionaries({"kind": st.just("Kind"), "name": st.text("ab", min_size=1)})
_keys = st.fixed_dictionaries(
    {
        "partitionId": st.fixed_dictionaries(
            {"projectId": st.just(PROJECT)}, optional={"namespaceId": st.text("ab")}
        ),
        "path": st.lists(_steps, min_size=1, max_size=2),
    }
)
_broken = st.sampled_from(
    [
        {},
        {"unknownValue": 1},
        {"timestampValue": "yesterday"},
        {"blobValue": "a"},
        {"integerValue": "x"},
        {"geoPointValue": {}},
        {"keyValue": {}},
        {"arrayValue": {"values": [{}]}},
        {"excludeFromIndexes": True},
    ]
)


def _value(kind: str, values: Any) -> Any:
    return st.fixed_dictionaries(
        {kind: values},
        optional={"excludeFromIndexes": st.booleans(), "meaning": st.integers(1, 30)},
    )


_scalars = st.one_of(
    _value("nullValue", st.none()),
    _value("booleanValue", st.booleans()),
    _value("integerValue", _integers),
    _value("doubleValue", _doubles),
    _value("timestampValue", _times),
    _value("stringValue", _names),
    _value("blobValue", _blobs),
    _value("geoPointValue", _points),
    _value("keyValue", _keys),
)


def _entities(values: Any) -> Any:
    optional = {"key": _keys, "properties": st.dictionaries(_names, values, max_size=5)}
    return st.fixed_dictionaries({}, optional=optional)


def _nested(values: Any) -> Any:
    arrays = st.fixed_dictionaries({}, optional={"values": st.lists(values, max_size=3)})
    return _value("arrayValue", arrays) | _value("entityValue", _entities(values))


_values = st.recursive(_scalars, _nested, max_leaves=8)


def _results(entities: Any) -> Any:
    return st.lists(
        st.fixed_dictionaries(
            {"entity": entities},
            optional={
                "version": st.just("17"),
                "cursor": st.just("Y3Vyc29y"),
                "createTime": _times,
                "updateTime": _times,
            },
        ),
        max_size=3,
    )


def _response(entities: Any) -> Any:
    return st.fixed_dictionaries(
        {
            "batch": st.fixed_dictionaries(
                {
                    "endCursor": st.just("ZW5k"),
                    "entityResultType": st.sampled_from(["FULL", "PROJECTION"]),
                    "moreResults": st.just("NO_MORE_RESULTS"),
                },
                optional={
                    "entityResults": _results(entities),
                    "skippedResults": st.just(3),
                    "skippedCursor": st.just("c2tpcA=="),
                    "snapshotVersion": st.just("9"),
                    "readTime": _times,
                },
            )
        },
        optional={"transaction": st.just("dHg="), "query": st.just({"kind": []})},
    )


query_responses = _response(_entities(_values))
"""Responses to a query whose values can all be converted."""

broken_responses = _response(_entities(_values | _broken))
"""Responses in which there may be values that cannot be converted."""

lookup_responses = st.fixed_dictionaries(
    {},
    optional={
        "found": _results(_entities(_values)),
        "missing": _results(_entities(_values)),
        "deferred": st.lists(_keys, max_size=2),
        "transaction": st.just("dHg="),
        "readTime": _times,
    },
)
