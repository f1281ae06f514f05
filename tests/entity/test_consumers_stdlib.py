"""The standard library gives the same for a lazy entity as for a stock one."""

from __future__ import annotations

import argparse
import configparser
import copy
import dataclasses
import enum
import functools
import inspect
import io
import json
import logging
import marshal
import operator
import pickle
import plistlib
import pprint
import reprlib
import shelve
import sqlite3
import string
import unittest
import urllib.parse
import xmlrpc.client
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, namedtuple
from contextlib import closing
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock
from xml.etree import ElementTree as ET

from google.cloud.datastore.entity import Entity

from tests.entity.consumption import PICKLES, Consumer, comparison_of


class _Encoder(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return type(o).__name__


def _in_python(entity: Any, **options: Any) -> str:
    """Encode with the encoder that json falls back to where its C accelerator is missing."""
    encoder = json.JSONEncoder(default=str, **options)
    with mock.patch.object(json.encoder, "c_make_encoder", None):
        return encoder.encode(entity)


def _pickled_in_python(entity: Any) -> Any:
    file = io.BytesIO()
    pickle._Pickler(file).dump(entity)  # the pure Python one
    return pickle.loads(file.getvalue())


def _shelved(entity: Any) -> Any:
    with TemporaryDirectory() as folder, shelve.open(str(Path(folder, "shelf"))) as shelf:
        shelf["entity"] = entity
        return shelf["entity"]


@dataclasses.dataclass
class _Plain:
    text: str
    number: int
    ratio: float
    yes: bool
    nothing: None
    list: Any
    empty: Any
    inner: Any


@dataclasses.dataclass
class _Holder:
    value: Any


def _record(entity: Any) -> logging.LogRecord:
    return logging.LogRecord("name", logging.INFO, "path", 1, "%(text)s %(inner)s", entity, None)


def _formatted_with_extra(entity: Any) -> str:
    record = logging.getLogger("extra").makeRecord(
        "name", logging.INFO, "path", 1, "message", (), None, extra=entity
    )
    return logging.Formatter("%(text)s %(inner)s").format(record)


def _sql(entity: Any) -> Any:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT :text, :text || 'x'", entity).fetchone()


def _configured(entity: Any) -> Any:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict({"section": entity})
    return dict(parser["section"])


def _patched_dict(entity: Any) -> Any:
    with mock.patch.dict(entity, {"text": "patched", "extra": 1}):
        return dict(entity)


def _asserted_equal(entity: Any) -> Any:
    case = unittest.TestCase()
    case.assertDictEqual(entity, dict(entity))  # noqa: PT009  # it is a consumer
    case.assertDictEqual(entity, {"text": "other"})  # noqa: PT009  # as above


def _dispatched(entity: Any) -> Any:
    @functools.singledispatch
    def dispatched(value: Any) -> Any:
        return "object"

    dispatched.register(dict, lambda value: "dict")
    dispatched.register(Entity, lambda value: ("Entity", value["text"]))
    return dispatched(entity)


def _enumerated(entity: Any) -> Any:
    functional: Any = enum.Enum
    return [(member.name, member.value) for member in functional("Made", entity)]


def _bound(entity: Any) -> Any:
    def function(text: Any, **others: Any) -> None: ...

    return inspect.signature(function).bind(**entity).arguments


def _named_tuple(entity: Any) -> Any:
    made = namedtuple("made", entity)  # type: ignore[misc]  # the names are not known here
    return tuple(made(**entity)), tuple(made._make(entity.values()))


CONSUMERS: dict[str, Consumer] = {
    # JSON: the C encoder serves the first ones, the Python one those with indent.
    "json.dumps default": lambda e: json.dumps(e, default=str),
    "json.dumps sort_keys": lambda e: json.dumps(e, sort_keys=True, default=str),
    "json.dumps indent": lambda e: json.dumps(e, indent=2, default=str),
    "json.dumps encoder class": lambda e: json.dumps(e, cls=_Encoder),
    "json iterencode": lambda e: "".join(_Encoder().iterencode(e)),
    "json in Python": _in_python,
    # Serialisers of other kinds.
    **PICKLES,
    "pickle in Python": _pickled_in_python,
    "pickle in a list": lambda e: pickle.loads(pickle.dumps([e, e["inner"], e])),
    "pickle for multiprocessing": lambda e: pickle.loads(ForkingPickler.dumps(e)),
    "shelve": _shelved,
    "marshal": marshal.dumps,
    "plistlib": lambda e: plistlib.dumps(e).decode(),
    "xmlrpc": lambda e: xmlrpc.client.dumps((e,)),
    # Copies.
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "copy.copy shares": lambda e: [
        getattr(copy.copy(e), name) is getattr(e, name)
        for name in ("key", "exclude_from_indexes", "_meanings")
    ],
    "copy.copy shares values": lambda e: [copy.copy(e)[name] is e[name] for name in e],
    # collections.
    "ChainMap": lambda e: dict(ChainMap({"text": 1}, e)),
    "ChainMap |": lambda e: dict(ChainMap({"extra": 1}) | e),
    "OrderedDict": OrderedDict,
    "OrderedDict | ": lambda e: OrderedDict(extra=1) | e,
    "| OrderedDict": lambda e: e | OrderedDict(extra=1),
    "defaultdict": lambda e: defaultdict(None, e),
    "| defaultdict": lambda e: e | defaultdict(None, extra=1),
    "Counter": lambda e: dict(Counter(e)),
    "UserDict": lambda e: dict(UserDict(e)),
    "namedtuple": _named_tuple,
    # Other takers of mappings and keywords.
    "argparse.Namespace": lambda e: vars(argparse.Namespace(**e)),
    "dataclass": lambda e: vars(_Plain(**e)),
    "dataclasses.asdict": lambda e: sorted(dataclasses.asdict(_Holder(e))["value"]),
    "enum": _enumerated,
    "functools.partial": lambda e: functools.partial(dict, **e)(),
    "functools.singledispatch": _dispatched,
    "inspect bind": _bound,
    "mock.call": lambda e: mock.call(**e).kwargs,
    "mock.patch.dict": _patched_dict,
    # Operators and iteration.
    "itemgetter": operator.itemgetter("text", "inner"),
    "attrgetter": operator.attrgetter("kind", "id", "key.name"),
    "operator.length_hint": operator.length_hint,
    # Text.
    "pprint": lambda e: pprint.pformat(e),
    "pprint of a dict": lambda e: pprint.pformat({"entity": e}, sort_dicts=False),
    "reprlib": reprlib.repr,
    "string.Template": lambda e: string.Template("$text and ${inner}").substitute(e),
    "string.Formatter": lambda e: string.Formatter().vformat("{text} {inner}", (), e),
    "logging args": lambda e: _record(e).getMessage(),
    "logging extra": _formatted_with_extra,
    "logging.makeLogRecord": lambda e: {name: vars(logging.makeLogRecord(e))[name] for name in e},
    "sqlite3": _sql,
    "urlencode": urllib.parse.urlencode,
    "configparser": _configured,
    "ElementTree attributes": lambda e: ET.Element("x", e).attrib,
    # Objects.
    "inspect.getmembers": lambda e: [
        value for name, value in inspect.getmembers(e) if name in ("key", "kind", "_meanings")
    ],
    "unittest": _asserted_equal,
}


test_same_result = comparison_of(CONSUMERS)
