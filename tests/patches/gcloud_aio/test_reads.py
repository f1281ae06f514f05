"""Reads of gcloud-aio-datastore are lazy and give what they give stock."""

from __future__ import annotations

import pytest

from tests.patches.rest.clients import RestClient
from tests.patches.rest.reads import ReadCases

pytestmark = pytest.mark.any_backend


class TestReads(ReadCases):
    client = RestClient("gcloud-aio")
