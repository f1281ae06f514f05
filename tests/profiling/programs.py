"""Small programs, each the source of a function ``run(client)``, whose profile may give advice."""

from __future__ import annotations

import textwrap
from typing import Final

KIND: Final = "Advised"
"""The entities have the ids 1 to 3, and the properties ``a`` to ``f``; one lacks ``f``."""


def _programs(bodies: dict[str, str]) -> dict[str, str]:
    """Return the sources of functions with these bodies, which begin with a query of all."""
    begin = "def run(client):\n    query = client.query(kind=KIND)\n"
    return {name: begin + textwrap.indent(body, "    ") for name, body in bodies.items()}


KEYS: Final = _programs(
    {
        "list of ids": "return [entity.key.id for entity in query.fetch()]",
        "delete": """
query = client.query(kind=KIND, order=["a"])
client.delete_multi([entity.key for entity in query.fetch(limit=2)])
""",
        "keys of a loop": """
found = []
for entity in query.fetch():
    found.append((entity.kind, entity.id, entity.key.flat_path))
return found
""",
    }
)
"""Programs that a keys-only query serves."""

WHOLE: Final = _programs(
    {
        "get, assign, put": """
entity = client.get(client.key(KIND, 1))
entity["state"] = "paid"
client.put(entity)
""",
        "get": """
entity = client.get(client.key(KIND, 1))
return entity is not None and entity.key.id
""",
        "put of the same": "client.put_multi(list(query.fetch()))",
        "put under another key": """
for entity in list(query.fetch()):
    entity.key = client.key(KIND, entity.key.id + 10)
    client.put(entity)
""",
        "columns": 'return lazyentity.columns(query.fetch(), ["a", "f"])',
        "orjson": (
            "return [orjson.dumps(entity, option=orjson.OPT_SORT_KEYS) for entity in query.fetch()]"
        ),
        "messages": """
iterator = query.fetch()
found, convert = [], iterator.item_to_value
def item_to_value(iterator, message):
    found.append(message.properties["a"].integer_value)
    return convert(iterator, message)
iterator.item_to_value = item_to_value
return [entity.key.id for entity in iterator], found
""",
        "projection": """
query = client.query(kind=KIND, projection=["tags"])
return len([entity.key for entity in query.fetch()])
""",
    }
)
"""Programs of which nothing is decoded, or not by itself, but that need their entities whole.

Other uses of an entity are counted: see test_counting.
"""

OTHERS: Final = _programs(
    {
        "two properties": 'return [(entity["a"], entity["b"]) for entity in query.fetch()]',
        "two properties, assign, put": """
for entity in query.fetch():
    entity["state"] = f"{entity['a']} {entity['b']}"
    client.put(entity)
""",
        "look-ups": """
entities = client.get_multi([client.key(KIND, number) for number in (1, 2)])
return sorted((entity["a"], entity.get("f")) for entity in entities)
""",
    }
)
"""Programs that read some properties."""
