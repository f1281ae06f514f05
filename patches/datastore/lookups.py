"""Look-ups whose keys are sent as bytes, and whose answers are read without messages.

``Client.get_multi`` makes a message of each key, which is copied into that of the request.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.cloud.datastore import client as client_module

from lazyentity._backend import EntityReader, complete_key_bytes
from lazyentity.codec.keys import DIRECT
from lazyentity.patches.api.requests import LookupBytes
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.patches.datastore.apis import is_lazy
from lazyentity.patches.datastore.reading import read_message
from lazyentity.patches.datastore.seams import CLIENT

# Upstream iterates the keys twice, which matters if they are an iterator.
_COLLECTIONS: Final = frozenset((list, tuple, set, frozenset))
_CARRIED: Final = frozenset(("retry", "timeout"))


def look_up(
    client: Any, keys: Any, options: Mapping[str, Any], reader: EntityReader
) -> list[Any] | None:
    """Look up keys as ``Client.get_multi`` does, if they can be sent as bytes.

    Args:
        client: a ``google.cloud.datastore.Client``.
        keys: as ``get_multi`` takes them.
        options: the other arguments of ``get_multi``, by name.
        reader: makes the entities.

    Returns:
        The entities; None, and nothing was sent, if the client has to do it: for transactions,
        options that change or report more than the entities, partial keys, keys of subclasses, and
        while the client's guard is not intact.

    Raises:
        google.api_core.exceptions.GoogleAPICallError: as the client's.
        Exception: as :meth:`~lazyentity._backend.protocols.ResultBytes.read` raises it.
    """
    if not keys or type(keys) not in _COLLECTIONS or not (DIRECT and CLIENT.guard.is_intact()):
        return None
    given = {name: value for name, value in options.items() if value is not None}
    if given.pop("eventual", False) is not False or not given.keys() <= _CARRIED:
        return None
    project, database = client.project, client.database or ""
    # Others may equal what they are not sent as.
    if type(project) is not str or type(database) is not str:
        return None
    if client.current_transaction is not None:
        return None
    serialised: list[Any] = [complete_key_bytes(key, project, database) for key in keys]
    if None in serialised:
        return None
    api = client._datastore_api
    if not is_lazy(api, "lookup"):
        return None
    entities: list[Iterator[Any]] = []
    for _ in range(client_module._MAX_LOOPS):
        response = api.lookup(request=LookupBytes.from_keys(project, database, serialised), **given)
        # At once, as the client: an interceptor may answer with the same response again.
        if type(response) is LookupResponse:
            read_next = iter(response._found).read_next
            entities.append(map(read_next, itertools.repeat(reader)))
        else:
            found = [result.entity for result in response.found]
            entities.append(read_message(entity._pb, reader) for entity in found)
        if not response.deferred:
            break
        # upb's keys, if an interceptor answers with a message of upb.
        serialised = [getattr(key, "_pb", key).SerializeToString() for key in response.deferred]
    return list(itertools.chain.from_iterable(entities))
