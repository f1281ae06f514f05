"""The replacements of methods that are specific to gcloud-rest-datastore."""

from __future__ import annotations

from lazyentity.patches.gcloud_rest.seams import CLIENT
from lazyentity.patches.rest.calls import replacing_post

replace_post = replacing_post(CLIENT)
replace_session_post = replacing_post(CLIENT, of_session=True)
