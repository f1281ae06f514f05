"""A profile of reads by the clients of the REST API."""

from __future__ import annotations

from typing import Any

import lazyentity
from lazyentity.profiling.counters import EVERY_PROPERTY
from tests.patches.conftest import Ports
from tests.patches.order_program import COUNT, KIND
from tests.patches.rest.clients import RestClient
from tests.patches.rest.reads import entities_of
from tests.support import hostile


class ProfileCases:
    """The tests; a subclass names the client."""

    client: RestClient

    def test_reads(self, ports: Ports) -> None:
        lazyentity.patch(self.client.name)
        with self.client.connected(ports["http"]) as call, lazyentity.profile() as profile:
            results = call("runQuery", self.client.package.Query(KIND))
            properties: list[Any] = [entity.properties for entity in entities_of(results)]
            for each in properties:
                each[hostile.Name("number")], each["number"], each["parity"]
            properties[0].items()
        report = profile.report()
        (kind,) = report.kinds
        assert (kind.kind, kind.entities) == (KIND, COUNT)
        assert kind.properties_received == sum(map(len, properties))
        assert kind.properties_decoded == 2 * (COUNT - 1) + len(properties[0])
        (whole,) = report.wholes
        assert (whole.operation, whole.properties) == (EVERY_PROPERTY, len(properties[0]) - 2)
        assert whole.site.file == __file__
        assert "number" in profile.html()
        assert "number" in profile.table()
