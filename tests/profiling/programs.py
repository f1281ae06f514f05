"""Small programs, each the source of a function ``run(client)``, whose profile may give advice."""

from __future__ import annotations

from typing import Final

KIND: Final = "Advised"
"""The entities have the ids 1 to 3, and the properties ``a`` to ``f``; one lacks ``f``."""

KEYS: Final = {
    "list of ids": """
def run(client):
    query = client.query(kind=KIND)
    return [entity.key.id for entity in query.fetch()]
""",
    "delete": """
def run(client):
    query = client.query(kind=KIND, order=["a"])
    client.delete_multi([entity.key for entity in query.fetch(limit=2)])
""",
    "keys of a loop": """
def run(client):
    query = client.query(kind=KIND)
    found = []
    for entity in query.fetch():
        found.append((entity.kind, entity.id, entity.key.flat_path))
    return found
""",
}
"""Programs that a keys-only query serves."""

WHOLE: Final = {
    "get, assign, put": """
def run(client):
    entity = client.get(client.key(KIND, 1))
    entity["state"] = "paid"
    client.put(entity)
""",
    "get": """
def run(client):
    entity = client.get(client.key(KIND, 1))
    return entity is not None and entity.key.id
""",
    "get_multi": """
def run(client):
    return len(client.get_multi([client.key(KIND, number) for number in (1, 2, 9)]))
""",
    "query, assign, put": """
def run(client):
    query = client.query(kind=KIND)
    for entity in query.fetch():
        entity["state"] = "paid"
        client.put(entity)
""",
    "put of the same": """
def run(client):
    query = client.query(kind=KIND)
    client.put_multi(list(query.fetch()))
""",
    "put under another key": """
def run(client):
    query = client.query(kind=KIND)
    for entity in list(query.fetch()):
        entity.key = client.key(KIND, entity.key.id + 10)
        client.put(entity)
""",
    "put inside of another": """
def run(client):
    query = client.query(kind=KIND)
    around = Entity(client.key(KIND, 20))
    around["parts"] = list(query.fetch())
    client.put(around)
""",
    "transaction": """
def run(client):
    query = client.query(kind=KIND)
    with client.transaction() as transaction:
        for entity in query.fetch():
            transaction.put(entity)
""",
    "batch": """
def run(client):
    query = client.query(kind=KIND)
    batch = client.batch()
    with batch:
        for entity in query.fetch():
            batch.put(entity)
""",
    "bulk": """
def run(client):
    query = client.query(kind=KIND)
    bulk.put_many(client, query.fetch())
""",
    "update": """
def run(client):
    query = client.query(kind=KIND)
    for entity in query.fetch():
        entity.update(state="paid")
        client.put(entity)
""",
    "delete of a property": """
def run(client):
    query = client.query(kind=KIND)
    for entity in query.fetch():
        del entity["a"]
        client.put(entity)
""",
    "pop without a value": """
def run(client):
    query = client.query(kind=KIND)
    return [entity.pop("z", None) for entity in query.fetch()]
""",
    "cleared": """
def run(client):
    query = client.query(kind=KIND)
    for entity in query.fetch():
        entity.clear()
        client.put(entity)
""",
    "raw": """
def run(client):
    query = client.query(kind=KIND)
    return [len(lazyentity.raw(entity)) for entity in query.fetch()]
""",
    "detached": """
def run(client):
    query = client.query(kind=KIND)
    return [entity.key.id for entity in lazyentity.detach(query.fetch())]
""",
    "copied": """
def run(client):
    query = client.query(kind=KIND)
    return [sorted(copy.copy(entity)) for entity in query.fetch()]
""",
    "pickled": """
def run(client):
    query = client.query(kind=KIND)
    return [pickle.loads(pickle.dumps(entity)) for entity in query.fetch()]
""",
    "compared": """
def run(client):
    query = client.query(kind=KIND)
    return [entity == {} for entity in query.fetch()]
""",
    "compared with others": """
def run(client):
    query = client.query(kind=KIND)
    known = client.get(client.key(KIND, 1))
    return [entity == known for entity in query.fetch() if entity.key.id != 1]
""",
    "columns": """
def run(client):
    query = client.query(kind=KIND)
    return lazyentity.columns(query.fetch(), ["a", "f"])
""",
    "materialized": """
def run(client):
    query = client.query(kind=KIND)
    return [dict(lazyentity.materialize(entity)) for entity in query.fetch()]
""",
    "truth": """
def run(client):
    query = client.query(kind=KIND)
    return sum(1 for entity in query.fetch() if entity)
""",
    "length": """
def run(client):
    query = client.query(kind=KIND)
    return [len(entity) for entity in query.fetch()]
""",
    "in": """
def run(client):
    query = client.query(kind=KIND)
    return ["f" in entity for entity in query.fetch()]
""",
    "names": """
def run(client):
    query = client.query(kind=KIND)
    return [sorted(entity) + sorted(entity.keys()) for entity in query.fetch()]
""",
    "a property that is missing": """
def run(client):
    query = client.query(kind=KIND)
    return [entity.get("z") for entity in query.fetch()]
""",
    "a property that raises": """
def run(client):
    query = client.query(kind=KIND)
    found = []
    for entity in query.fetch():
        try:
            found.append(entity["z"])
        except KeyError:
            found.append(None)
    return found
""",
    "index flags": """
def run(client):
    query = client.query(kind=KIND)
    return [sorted(entity.exclude_from_indexes) for entity in query.fetch()]
""",
    "attributes": """
def run(client):
    query = client.query(kind=KIND)
    return [sorted(vars(entity)["exclude_from_indexes"]) for entity in query.fetch()]
""",
    "orjson": """
def run(client):
    query = client.query(kind=KIND)
    return [orjson.dumps(entity, option=orjson.OPT_SORT_KEYS) for entity in query.fetch()]
""",
    "storage": """
def run(client):
    query = client.query(kind=KIND)
    found = []
    for entity in query.fetch():
        try:
            found.append(str(dict.get(entity, "a")))
        except TypeError:
            found.append(str(entity.key.id))
    return found
""",
    "kept": """
def run(client):
    query = client.query(kind=KIND)
    cache = {entity.key.id: entity for entity in query.fetch()}
    yield
    return [cache[number]["a"] for number in sorted(cache)]
""",
    "messages": """
def run(client):
    query = client.query(kind=KIND)
    iterator = query.fetch()
    found, convert = [], iterator.item_to_value
    def item_to_value(iterator, message):
        found.append(message.properties["a"].integer_value)
        return convert(iterator, message)
    iterator.item_to_value = item_to_value
    return [entity.key.id for entity in iterator], found
""",
    "projection": """
def run(client):
    query = client.query(kind=KIND, projection=["tags"])
    return len([entity.key for entity in query.fetch()])
""",
}
"""Programs of which nothing is decoded, or not by itself, but that need their entities whole."""

OTHERS: Final = {
    "two properties": """
def run(client):
    query = client.query(kind=KIND)
    return [(entity["a"], entity["b"]) for entity in query.fetch()]
""",
    "two properties, assign, put": """
def run(client):
    query = client.query(kind=KIND)
    for entity in query.fetch():
        entity["state"] = f"{entity['a']} {entity['b']}"
        client.put(entity)
""",
    "look-ups": """
def run(client):
    entities = client.get_multi([client.key(KIND, number) for number in (1, 2)])
    return sorted((entity["a"], entity.get("f")) for entity in entities)
""",
    "a cache": """
def run(client):
    query = client.query(kind=KIND)
    cache = {}
    for entity in query.fetch():
        entity["a"], entity["b"]
        cache[entity.key.id] = entity
    yield
    return [(cache[number]["a"], cache[number]["b"]) for number in sorted(cache)]
""",
    "a library in C": """
def run(client):
    query = client.query(kind=KIND)
    found = []
    for entity in query.fetch():
        try:
            found.append(unadapted(entity))
        except TypeError:
            found.append(unadapted(lazyentity.materialize(entity)))
    return found
""",
    "a model": """
class Order(pydantic.BaseModel):
    a: int
    b: str

def run(client):
    query = client.query(kind=KIND)
    return [Order.model_validate(entity).model_dump() for entity in query.fetch()]
""",
    "a model with a property that is missing": """
class Order(pydantic.BaseModel):
    a: int
    f: str | None = None

def run(client):
    query = client.query(kind=KIND)
    return [Order.model_validate(entity).model_dump() for entity in query.fetch()]
""",
    "a model with aliases": """
class Order(pydantic.BaseModel):
    first: int = pydantic.Field(validation_alias="a")
    last: str = pydantic.Field("none", validation_alias=pydantic.AliasChoices("z", "f"))

def run(client):
    query = client.query(kind=KIND)
    return [Order.model_validate(entity).model_dump() for entity in query.fetch()]
""",
    "two models": """
class Order(pydantic.BaseModel):
    a: int
    b: str

class Other(pydantic.BaseModel):
    c: float
    a: str

kinds = pydantic.TypeAdapter(Order | Other)

def run(client):
    query = client.query(kind=KIND)
    return [kinds.validate_python(entity).model_dump() for entity in query.fetch()]
""",
    "a model of everything": """
class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int

def run(client):
    query = client.query(kind=KIND)
    return [Order.model_validate(entity).model_dump(mode="json") for entity in query.fetch()]
""",
    "a model that looks at everything": """
class Order(pydantic.BaseModel):
    a: int

    @pydantic.model_validator(mode="before")
    @classmethod
    def _longer(cls, values):
        return {"a": len(values)}

def run(client):
    query = client.query(kind=KIND)
    return [Order.model_validate(entity).model_dump() for entity in query.fetch()]
""",
    "a model, or a dict": """
class Order(pydantic.BaseModel):
    z: int

kinds = pydantic.TypeAdapter(Order | dict[str, object])

def run(client):
    query = client.query(kind=KIND)
    return [kinds.validate_python(entity) for entity in query.fetch()]
""",
    "a model, and a dict": """
class Order(pydantic.BaseModel):
    a: int

class Page(pydantic.BaseModel):
    order: Order
    held: dict[str, object]

def run(client):
    query = client.query(kind=KIND)
    return [Page.model_validate({"order": entity, "held": entity}).model_dump()
            for entity in query.fetch()]
""",
}
"""Programs that read some properties."""
