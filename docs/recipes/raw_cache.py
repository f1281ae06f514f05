import lazyentity
from google.cloud import datastore


class CachedReads:
    """Single reads of a client, through a cache of serialised entities."""

    def __init__(self, client, store):
        # A wrapped client is lazy whether or not the process is patched.
        self._client = lazyentity.wrap(client)
        self._store = store

    def get(self, key: datastore.Key):
        name = key.to_legacy_urlsafe().decode()
        found = self._store.get(name)
        if found is not None:
            return lazyentity.LazyEntity.from_bytes(found)
        entity = self._client.get(key)
        if entity is not None:
            self._store.set(name, lazyentity.raw(entity))
        return entity
