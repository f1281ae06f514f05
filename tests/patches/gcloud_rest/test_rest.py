"""The tests that both clients of the REST API pass, with gcloud-rest-datastore."""

from __future__ import annotations

from tests.patches.rest.clients import RestClient
from tests.patches.rest.conversions import ConversionCases
from tests.patches.rest.reads import ReadCases


class TestClient(ConversionCases, ReadCases):
    client = RestClient("gcloud-rest")
