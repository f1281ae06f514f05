"""Uses of libraries that ask an entity by its methods, and so need no adapter."""

from __future__ import annotations

import copy
import csv
import io
import json
import pickle
import string
from collections import ChainMap, Counter, OrderedDict, UserDict
from typing import Any

from tests.adapters.uses import Uses, module


def _sorted(pairs: Any) -> list[str]:
    return sorted(map(str, pairs))


def _csv(entity: Any) -> str:
    buffer = io.StringIO()
    csv.DictWriter(buffer, sorted(entity)).writerow(entity)
    return buffer.getvalue()


def _flask(entity: Any) -> Any:
    flask = module("flask")
    app = flask.Flask("app")
    with app.app_context():
        return flask.jsonify(entity).get_json(), flask.jsonify([entity]).get_json()


def _inserted(entity: Any) -> Any:
    sa = module("sqlalchemy")
    table = sa.Table(
        "rows", sa.MetaData(), sa.Column("text", sa.String), sa.Column("number", sa.Integer)
    )
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"text": entity["text"], "number": 1}, entity])
        rows = [tuple(row) for row in connection.execute(sa.select(table))]
    engine.dispose()
    return rows


def _marshmallow(entity: Any) -> Any:
    ma = module("marshmallow")
    inner = ma.Schema.from_dict({"deep": ma.fields.Str()})
    schema = ma.Schema.from_dict({"text": ma.fields.Str(), "inner": ma.fields.Nested(inner)})
    return schema().dump(entity), schema(unknown="exclude").load(entity)


def _avro(entity: Any) -> bytes:
    fastavro = module("fastavro")
    fields = [{"name": "text", "type": "string"}, {"name": "number", "type": "long"}]
    buffer = io.BytesIO()
    schema = fastavro.parse_schema({"type": "record", "name": "Row", "fields": fields})
    fastavro.schemaless_writer(buffer, schema, entity)
    return buffer.getvalue()


def _yaml(entity: Any) -> Any:
    yaml = module("yaml")
    return yaml.safe_load(yaml.dump(dict(entity.items()) | {"inner": dict(entity["inner"])}))


def _ruamel(entity: Any) -> Any:
    buffer = io.StringIO()
    module("ruamel.yaml").YAML(typ="safe", pure=True).dump(dict(entity), buffer)
    return buffer.getvalue()


def _cattrs(entity: Any) -> str:
    made = module("attr").make_class("Made", {"text": module("attr").ib(type=str)})
    return str(module("cattrs").structure(entity, made))


def _dacite(entity: Any) -> str:
    made = module("dataclasses").make_dataclass("Made", [("text", str), ("inner", dict)])
    return str(module("dacite").from_dict(made, entity))


def _httpx(entity: Any) -> Any:
    request = module("httpx").Request(
        "POST", "http://h/", json=entity, params={"q": entity["text"]}
    )
    return str(request.url), json.loads(request.content)


def _requests(entity: Any) -> Any:
    request = module("requests").Request("POST", "http://h/", json=entity, params=entity).prepare()
    return json.loads(request.body)


def _django(entity: Any) -> str:
    encoder = module("django.core.serializers.json").DjangoJSONEncoder
    return json.dumps(entity, cls=encoder)


def _graph(entity: Any) -> Any:
    graph = module("networkx").Graph()
    graph.add_node(1, **entity)
    graph.add_nodes_from([(2, entity)])
    return _sorted(graph.nodes[1].items()), _sorted(graph.nodes[2].items())


USES = (
    Uses(
        None,
        "json",
        {
            "json": json.dumps,
            "json indented": lambda e: json.dumps([e], indent=1),
            "pickle": lambda e: pickle.loads(pickle.dumps(e)),
            "copy": copy.copy,
            "csv": _csv,
            "format": lambda e: "{text} {number}".format(**e),
            "format_map": lambda e: "{text}".format_map(e),
            "Template": lambda e: string.Template("$text").substitute(e),
            "%": lambda e: "%(text)s" % e,  # noqa: UP031  # that is what is tested
            "Counter": lambda e: Counter({"number": 1}) + Counter({"n": e["number"]}),
            "ChainMap": lambda e: dict(ChainMap({}, e)),
            "OrderedDict": OrderedDict,
            "UserDict": lambda e: dict(UserDict(e)),
        },
    ),
    Uses("simplejson", "simplejson", {"dumps": lambda e: module("simplejson").dumps(e)}),
    Uses("PyYAML", "yaml", {"dump": _yaml}),
    Uses("ruamel.yaml", "ruamel.yaml", {"dump": _ruamel}),
    Uses(
        "jinja2",
        "jinja2",
        {
            "render": lambda e: module("jinja2").Template("{{ text }} {{ inner.deep }}").render(e),
            "tojson": lambda e: module("jinja2").Template("{{ e|tojson }}").render(e=e),
            "items": lambda e: module("jinja2").Template("{{ e|dictsort }}").render(e=dict(e)),
        },
    ),
    Uses("cattrs", "cattrs", {"structure": _cattrs}),
    Uses("marshmallow", "marshmallow", {"load, dump": _marshmallow}),
    Uses("dacite", "dacite", {"from_dict": _dacite}),
    Uses("msgpack", "msgpack", {"packb": lambda e: module("msgpack").packb([e])}),
    Uses(
        "tomli-w",
        "tomli_w",
        {"dumps": lambda e: module("tomli_w").dumps({"e": {"t": e["text"], "i": e["inner"]}})},
    ),
    Uses(
        "tomlkit",
        "tomlkit",
        {"dumps": lambda e: module("tomlkit").dumps({"inner": e["inner"]})},
    ),
    Uses("deepdiff", "deepdiff", {"equal": lambda e: dict(module("deepdiff").DeepDiff([e], [e]))}),
    Uses(
        "jsonschema",
        "jsonschema",
        {
            "valid": lambda e: module("jsonschema").validate(
                e,
                {
                    "type": "object",
                    "required": ["text"],
                    "properties": {"text": {"type": "string"}},
                },
            ),
        },
    ),
    Uses("httpx", "httpx", {"json": _httpx}),
    Uses("requests", "requests", {"json": _requests}),
    Uses("flask", "flask", {"jsonify": _flask}),
    Uses("django", "django", {"encoder": _django}),
    Uses("sqlalchemy", "sqlalchemy", {"insert": _inserted}),
    Uses("python-box", "box", {"Box": lambda e: module("box").Box(e).to_dict()}),
    Uses("munch", "munch", {"munchify": lambda e: _sorted(module("munch").munchify(e).items())}),
    Uses("addict", "addict", {"Dict": lambda e: _sorted(module("addict").Dict(e).items())}),
    Uses("glom", "glom", {"path": lambda e: module("glom").glom(e, "inner.deep")}),
    Uses("toolz", "toolz", {"merge": lambda e: module("toolz").merge(e, {"x": 1})}),
    Uses("cytoolz", "cytoolz", {"valmap": lambda e: module("cytoolz").valmap(str, e)}),
    Uses("networkx", "networkx", {"attributes": _graph}),
    Uses("jmespath", "jmespath", {"search": lambda e: module("jmespath").search("inner.deep", e)}),
    Uses(
        "frozendict",
        "frozendict",
        {"frozendict": lambda e: _sorted(module("frozendict").frozendict(e).items())},
    ),
    Uses(
        "multidict",
        "multidict",
        {"MultiDict": lambda e: _sorted(module("multidict").MultiDict(e).items())},
    ),
    Uses(
        "pyrsistent",
        "pyrsistent",
        {"pmap": lambda e: _sorted(module("pyrsistent").pmap(e).items())},
    ),
    Uses(
        "sortedcontainers",
        "sortedcontainers",
        {"SortedDict": lambda e: list(module("sortedcontainers").SortedDict(e).items())},
    ),
    Uses(
        "boltons",
        "boltons",
        {"remap": lambda e: _sorted(module("boltons.iterutils").remap(e).items())},
    ),
    Uses(
        "cloudpickle",
        "cloudpickle",
        {"dumps": lambda e: pickle.loads(module("cloudpickle").dumps(e))},
    ),
    Uses("dill", "dill", {"dumps": lambda e: module("dill").loads(module("dill").dumps(e))}),
    Uses(
        "jsonpickle",
        "jsonpickle",
        {"encode": lambda e: module("jsonpickle").encode(e, unpicklable=False)},
    ),
    Uses("fastavro", "fastavro", {"writer": _avro}),
    Uses(
        "xmltodict",
        "xmltodict",
        {"unparse": lambda e: module("xmltodict").unparse({"e": {"inner": e["inner"]}})},
    ),
    Uses(
        "cachetools",
        "cachetools",
        {
            "update": lambda e: (lambda c: (c.update(e), _sorted(c.items())))(
                module("cachetools").LRUCache(50)
            )
        },
    ),
)
"""Of a distribution None are the parts of Python itself."""
