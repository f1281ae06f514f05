"""Classes and functions of an application in place of those of gcloud-rest-datastore."""

from __future__ import annotations

import pytest

from tests.patches.rest.applications import ApplicationCases
from tests.patches.rest.clients import RestClient

pytestmark = pytest.mark.any_backend


class TestApplications(ApplicationCases):
    client = RestClient("gcloud-rest")
