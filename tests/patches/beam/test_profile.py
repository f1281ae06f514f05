"""A profile of entities that become elements of a pipeline."""

from __future__ import annotations

from apache_beam.io.gcp.datastore.v1new import types

import lazyentity
from tests.profiling.receiving import FIVE, Response


def test_elements() -> None:
    """No options are suggested for the read: the properties are converted elsewhere."""
    lazyentity.patch("beam")
    with lazyentity.profile() as profile:
        entities = Response(lazyentity.backend, [FIVE] * 3).entities()
        elements = [types.Entity.from_client_entity(entity) for entity in entities]
        assert [element.properties["a"] for element in elements] == [1, 1, 1]
    (reads,) = profile.report().sites
    assert reads.entities == 3
    assert not reads.suggestion.options
    assert reads.suggestion.reason.startswith("wrap() takes only")
