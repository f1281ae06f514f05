"""The replacements of methods that are specific to gcloud-aio-datastore."""

from __future__ import annotations

from lazyentity.patches.gcloud_aio.seams import CLIENT
from lazyentity.patches.rest.calls import replacing_post

replace_post = replacing_post(CLIENT, is_async=True)
replace_session_post = replacing_post(CLIENT, is_async=True, of_session=True)
