"""Uses of libraries that ask an entity by its methods, and so need no adapter."""

from __future__ import annotations

import copy
import csv
import importlib
import io
import json
import pickle
import string
from collections import ChainMap, Counter, OrderedDict, UserDict
from typing import Any

from tests.adapters.uses import Uses, lib


def _sorted(pairs: Any) -> list[str]:
    return sorted(map(str, pairs))


def _csv(entity: Any) -> str:
    buffer = io.StringIO()
    csv.DictWriter(buffer, sorted(entity)).writerow(entity)
    return buffer.getvalue()


def _flask(entity: Any) -> Any:
    flask = lib.flask
    app = flask.Flask("app")
    with app.app_context():
        return flask.jsonify(entity).get_json(), flask.jsonify([entity]).get_json()


def _inserted(entity: Any) -> Any:
    sa = lib.sqlalchemy
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
    ma = lib.marshmallow
    inner = ma.Schema.from_dict({"deep": ma.fields.Str()})
    schema = ma.Schema.from_dict({"text": ma.fields.Str(), "inner": ma.fields.Nested(inner)})
    return schema().dump(entity), schema(unknown="exclude").load(entity)


def _avro(entity: Any) -> bytes:
    fastavro = lib.fastavro
    fields = [{"name": "text", "type": "string"}, {"name": "number", "type": "long"}]
    buffer = io.BytesIO()
    schema = fastavro.parse_schema({"type": "record", "name": "Row", "fields": fields})
    fastavro.schemaless_writer(buffer, schema, entity)
    return buffer.getvalue()


def _yaml(entity: Any) -> Any:
    yaml = lib.yaml
    return yaml.safe_load(yaml.dump(dict(entity.items()) | {"inner": dict(entity["inner"])}))


def _ruamel(entity: Any) -> Any:
    buffer = io.StringIO()
    importlib.import_module("ruamel.yaml").YAML(typ="safe", pure=True).dump(dict(entity), buffer)
    return buffer.getvalue()


def _cattrs(entity: Any) -> str:
    made = lib.attr.make_class("Made", {"text": lib.attr.ib(type=str)})
    return str(lib.cattrs.structure(entity, made))


def _dacite(entity: Any) -> str:
    made = lib.dataclasses.make_dataclass("Made", [("text", str), ("inner", dict)])
    return str(lib.dacite.from_dict(made, entity))


def _httpx(entity: Any) -> Any:
    request = lib.httpx.Request("POST", "http://h/", json=entity, params={"q": entity["text"]})
    return str(request.url), json.loads(request.content)


def _requests(entity: Any) -> Any:
    request = lib.requests.Request("POST", "http://h/", json=entity, params=entity).prepare()
    return json.loads(request.body)


def _django(entity: Any) -> str:
    encoder = importlib.import_module("django.core.serializers.json").DjangoJSONEncoder
    return json.dumps(entity, cls=encoder)


def _graph(entity: Any) -> Any:
    graph = lib.networkx.Graph()
    graph.add_node(1, **entity)
    graph.add_nodes_from([(2, entity)])
    return _sorted(graph.nodes[1].items()), _sorted(graph.nodes[2].items())


USES = (
    Uses(
        None,
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
        module="json",
    ),
    Uses("simplejson", {"dumps": lambda e: lib.simplejson.dumps(e)}),
    Uses("PyYAML", {"dump": _yaml}, module="yaml"),
    Uses("ruamel.yaml", {"dump": _ruamel}),
    Uses(
        "jinja2",
        {
            "render": lambda e: lib.jinja2.Template("{{ text }} {{ inner.deep }}").render(e),
            "tojson": lambda e: lib.jinja2.Template("{{ e|tojson }}").render(e=e),
            "items": lambda e: lib.jinja2.Template("{{ e|dictsort }}").render(e=dict(e)),
        },
    ),
    Uses("cattrs", {"structure": _cattrs}),
    Uses("marshmallow", {"load, dump": _marshmallow}),
    Uses("dacite", {"from_dict": _dacite}),
    Uses("msgpack", {"packb": lambda e: lib.msgpack.packb([e])}),
    Uses(
        "tomli-w", {"dumps": lambda e: lib.tomli_w.dumps({"e": {"t": e["text"], "i": e["inner"]}})}
    ),
    Uses("tomlkit", {"dumps": lambda e: lib.tomlkit.dumps({"inner": e["inner"]})}),
    Uses("deepdiff", {"equal": lambda e: dict(lib.deepdiff.DeepDiff([e], [e]))}),
    Uses(
        "jsonschema",
        {
            "valid": lambda e: lib.jsonschema.validate(
                e,
                {
                    "type": "object",
                    "required": ["text"],
                    "properties": {"text": {"type": "string"}},
                },
            )
        },
    ),
    Uses("httpx", {"json": _httpx}),
    Uses("requests", {"json": _requests}),
    Uses("flask", {"jsonify": _flask}),
    Uses("django", {"encoder": _django}),
    Uses("sqlalchemy", {"insert": _inserted}),
    Uses("python-box", {"Box": lambda e: lib.box.Box(e).to_dict()}, module="box"),
    Uses("munch", {"munchify": lambda e: _sorted(lib.munch.munchify(e).items())}),
    Uses("addict", {"Dict": lambda e: _sorted(lib.addict.Dict(e).items())}),
    Uses("glom", {"path": lambda e: lib.glom.glom(e, "inner.deep")}),
    Uses("toolz", {"merge": lambda e: lib.toolz.merge(e, {"x": 1})}),
    Uses("cytoolz", {"valmap": lambda e: lib.cytoolz.valmap(str, e)}),
    Uses("networkx", {"attributes": _graph}),
    Uses("jmespath", {"search": lambda e: lib.jmespath.search("inner.deep", e)}),
    Uses("frozendict", {"frozendict": lambda e: _sorted(lib.frozendict.frozendict(e).items())}),
    Uses("multidict", {"MultiDict": lambda e: _sorted(lib.multidict.MultiDict(e).items())}),
    Uses("pyrsistent", {"pmap": lambda e: _sorted(lib.pyrsistent.pmap(e).items())}),
    Uses(
        "sortedcontainers",
        {"SortedDict": lambda e: list(lib.sortedcontainers.SortedDict(e).items())},
    ),
    Uses(
        "boltons",
        {"remap": lambda e: _sorted(importlib.import_module("boltons.iterutils").remap(e).items())},
    ),
    Uses("cloudpickle", {"dumps": lambda e: pickle.loads(lib.cloudpickle.dumps(e))}),
    Uses("dill", {"dumps": lambda e: lib.dill.loads(lib.dill.dumps(e))}),
    Uses("jsonpickle", {"encode": lambda e: lib.jsonpickle.encode(e, unpicklable=False)}),
    Uses("fastavro", {"writer": _avro}),
    Uses("xmltodict", {"unparse": lambda e: lib.xmltodict.unparse({"e": {"inner": e["inner"]}})}),
    Uses(
        "cachetools",
        {
            "update": lambda e: (lambda c: (c.update(e), _sorted(c.items())))(
                lib.cachetools.LRUCache(50)
            )
        },
    ),
)
"""Of a distribution None are the parts of Python itself."""
