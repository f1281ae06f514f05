"""Look-ups whose keys are sent as bytes, and whose answers are read without messages.

``Client.get_multi`` makes a message of each key, which is copied into that of the request.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.cloud.datastore import client as client_module
from google.cloud.datastore import key as key_module

from lazyentity._backend import EntityReader, complete_key_bytes
from lazyentity.codec.keys import DIRECT
from lazyentity.patches.api.requests import LookupBytes
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.patches.datastore.apis import options_are_known, reads_as_known
from lazyentity.patches.datastore.reading import read_message
from lazyentity.patches.datastore.seams import KEY_ENCODING
from lazyentity.patches.upstream import is_upstream

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
        where somebody replaced a function on the way.

    Raises:
        google.api_core.exceptions.GoogleAPICallError: as the client's.
        Exception: as :meth:`~lazyentity._backend.protocols.ResultBytes.read` raises it.
    """
    if not keys or type(keys) not in _COLLECTIONS or not _is_known():
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
    if not reads_as_known(api, "lookup"):
        return None
    readers = itertools.repeat(reader)
    entities: list[Iterator[Any]] = []
    for _ in range(client_module._MAX_LOOPS):
        response = api.lookup(request=LookupBytes.of(project, database, serialised), **given)
        # At once, as the client: an interceptor may answer with the same response again.
        if type(response) is LookupResponse:
            entities.append(map(iter(response._found).read_next, readers))
        else:
            found = [result.entity for result in response.found]
            entities.append(map(read_message, map(_message_of, found), readers))
        if not response.deferred:
            break
        # upb's keys, if an interceptor answers with a message of upb.
        serialised = [getattr(key, "_pb", key).SerializeToString() for key in response.deferred]
    return list(itertools.chain.from_iterable(entities))


_message_of = operator.attrgetter("_pb")


def _is_known() -> bool:
    """Whether the functions that are passed over are the client's own, or replacements of these."""
    return (
        DIRECT
        and is_upstream(key_module.Key.to_protobuf, key_module, KEY_ENCODING.replacement)
        and is_upstream(client_module._extended_lookup, client_module)
        and is_upstream(client_module._make_retry_timeout_kwargs, client_module)
        and options_are_known()
    )
