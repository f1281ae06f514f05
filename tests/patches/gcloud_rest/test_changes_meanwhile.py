"""Properties of gcloud-rest-datastore that change while they are read or sent."""

from __future__ import annotations

import pytest

from tests.patches.rest.changes import ChangeCases
from tests.patches.rest.clients import RestClient

pytestmark = pytest.mark.any_backend


class TestChanges(ChangeCases):
    client = RestClient("gcloud-rest")
