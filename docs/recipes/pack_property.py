"""Pack a property of all entities of a kind; can be stopped and run again.

python pack_property.py Order result
"""

import sys

from google.cloud import datastore

import lazyentity
from lazyentity.packed import pack, unpack


def pack_kind(client: datastore.Client, kind: str, name: str) -> int:
    """Pack the property of each entity that has a dict or a list there; return their number."""
    count = 0
    for found in client.query(kind=kind).fetch():
        if not isinstance(found.get(name), dict | list):
            continue
        # Read again and written in a transaction: no change of another program is lost.
        with client.transaction():
            entity = client.get(found.key)
            if entity is None or not isinstance(entity.get(name), dict | list):
                continue
            entity[name] = pack(unpack(entity[name]))
            entity.exclude_from_indexes.add(name)
            client.put(entity)
        count += 1
    return count


if __name__ == "__main__":
    # Lazily: the other properties are written as they were received.
    lazyentity.patch("datastore")
    print(f"{pack_kind(datastore.Client(), sys.argv[1], sys.argv[2])} entities were packed")
