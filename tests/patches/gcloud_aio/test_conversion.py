"""Generated responses to gcloud-aio-datastore are converted lazily to what stock makes of them."""

from __future__ import annotations

import pytest

from tests.patches.rest.clients import RestClient
from tests.patches.rest.conversions import ConversionCases

pytestmark = pytest.mark.any_backend


class TestConversion(ConversionCases):
    client = RestClient("gcloud-aio")
