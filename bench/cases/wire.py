"""Building serialised responses, as a server would send them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from google.cloud.datastore_v1.types import datastore as datastore_types
from google.cloud.datastore_v1.types import entity as entity_types

EntityMessage: Any = entity_types.Entity.pb()
"""The raw (upb) class behind the proto-plus ``Entity``."""

_LookupResponse: Any = datastore_types.LookupResponse.pb()


def lookup_responses(entity_pbs: Iterable[Any], entities_a_response: int) -> Iterator[bytes]:
    """Serialised ``LookupResponse`` messages that hold ``entity_pbs`` (raw messages), in order.

    Map entries are written in order of name: every entity of a kind then lists its properties in
    the same order, and the bytes are the same in every run.
    """
    rest = iter(entity_pbs)
    while batch := list(itertools.islice(rest, entities_a_response)):
        response = _LookupResponse()
        for version, entity_pb in enumerate(batch, start=1):
            response.found.add(version=version).entity.CopyFrom(entity_pb)
        yield response.SerializeToString(deterministic=True)


def entities_of(response: bytes) -> list[bytes]:
    """The serialised entities inside a serialised ``LookupResponse``."""
    found = _LookupResponse.FromString(response).found
    return [result.entity.SerializeToString(deterministic=True) for result in found]
