"""A profile of reads by gcloud-aio-datastore."""

from __future__ import annotations

import pytest

from tests.patches.rest.clients import RestClient
from tests.patches.rest.profiles import ProfileCases

pytestmark = pytest.mark.any_backend


class TestProfile(ProfileCases):
    client = RestClient("gcloud-aio")
