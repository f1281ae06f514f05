"""Responses parsed as far as the properties of their entities, each of which stays serialised.

The types here have every field of the REST interface. They are for conversions that are known to
look at nothing else.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from lazyentity.patches.rest.properties import RawJsonProperties


class _Entity(TypedDict, total=False):
    key: Any
    properties: msgspec.Raw


class _Result(TypedDict, total=False):
    entity: _Entity
    version: Any
    createTime: Any
    updateTime: Any
    cursor: Any


class _Batch(TypedDict, total=False):
    skippedResults: Any
    skippedCursor: Any
    entityResultType: Any
    entityResults: list[_Result]
    endCursor: Any
    moreResults: Any
    snapshotVersion: Any
    readTime: Any


class _Response(TypedDict, total=False):
    """The response to a lookup or to a query."""

    found: list[_Result]
    missing: list[_Result]
    deferred: Any
    readTime: Any
    batch: _Batch
    query: Any
    explainMetrics: Any
    transaction: Any


_response = msgspec.json.Decoder(_Response)
_properties = msgspec.json.Decoder(dict[str, msgspec.Raw])


def parsed_but_properties(body: bytes) -> Any:
    """Parse the body of a response; the properties of its entities are received, serialised.

    Raises:
        ValueError: if the body is not the JSON of a response, as far as it was parsed.
    """
    if not body.isascii():
        # msgspec does not look into properties.
        body.decode()
    try:
        return _parsed(body)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def _parsed(body: bytes) -> Any:
    data: Any = _response.decode(body)
    results = [*data.get("found", ()), *data.get("missing", ())]
    results += data.get("batch", {}).get("entityResults", ())
    for result in results:
        entity = result.get("entity", {})
        raw = entity.get("properties")
        if raw is not None:
            # A copy: the whole body would live as long as one of its entities.
            entity["properties"] = RawJsonProperties(_properties.decode(bytes(raw)))
    return data
