"""Any number of keys and entities in few calls, for every client of google-cloud-datastore.

The calls are not atomic: each sends several requests, and some can fail while others succeed.
"""

from lazyentity.bulk.errors import BulkError
from lazyentity.bulk.reading import get_many
from lazyentity.bulk.writing import delete_many, put_many

__all__ = ["BulkError", "delete_many", "get_many", "put_many"]
