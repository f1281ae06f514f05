"""The standard library gives the same for a lazy entity as for a stock one."""

from __future__ import annotations

import argparse
import configparser
import copy
import csv
import dataclasses
import enum
import functools
import heapq
import inspect
import io
import itertools
import json
import logging
import marshal
import operator
import pickle
import plistlib
import pprint
import random
import reprlib
import shelve
import sqlite3
import string
import sys
import threading
import unittest
import urllib.parse
import weakref
import xmlrpc.client
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
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


def _dumped(entity: Any, **options: Any) -> str:
    file = io.StringIO()
    json.dump(entity, file, **options)
    return file.getvalue()


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


def _csv(entity: Any) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(entity))
    writer.writeheader()
    writer.writerow(entity)
    return file.getvalue()


def _sql(entity: Any) -> Any:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT :text, :text || 'x'", entity).fetchone()


def _many_sql(entity: Any) -> Any:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (text)")
        connection.executemany("INSERT INTO t VALUES (:text)", [entity, entity])
        return connection.execute("SELECT text FROM t").fetchall()


def _configured(entity: Any) -> Any:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict({"section": entity})
    return dict(parser["section"])


def _in_thread(entity: Any) -> Any:
    seen: dict[str, Any] = {}
    thread = threading.Thread(target=seen.update, kwargs=entity)
    thread.start()
    thread.join()
    return seen


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


def _doubled(entity: Any) -> Any:
    weak = weakref.ref(entity)
    return weak() is entity


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
    "json.dumps": json.dumps,
    "json.dumps default": lambda e: json.dumps(e, default=str),
    "json.dumps sort_keys": lambda e: json.dumps(e, sort_keys=True, default=str),
    "json.dumps indent": lambda e: json.dumps(e, indent=2, default=str),
    "json.dumps indent sort_keys": lambda e: json.dumps(e, indent=2, sort_keys=True, default=str),
    "json.dumps separators": lambda e: json.dumps(e, separators=(",", ":"), default=str),
    "json.dumps skipkeys": lambda e: json.dumps(e, skipkeys=True, default=str),
    "json.dumps unchecked": lambda e: json.dumps(e, check_circular=False, default=str),
    "json.dumps not ASCII": lambda e: json.dumps(e, ensure_ascii=False, default=str),
    "json.dumps in a list": lambda e: json.dumps([e, e], default=str),
    "json.dumps in a dict": lambda e: json.dumps({"entity": e}, default=str),
    "json.dumps of a ChainMap": lambda e: json.dumps(dict(ChainMap({}, e)), default=str),
    "json.dumps encoder class": lambda e: json.dumps(e, cls=_Encoder),
    "json.dump": lambda e: _dumped(e, default=str),
    "json iterencode": lambda e: "".join(_Encoder().iterencode(e)),
    "json in Python": _in_python,
    "json in Python sort_keys": lambda e: _in_python(e, sort_keys=True),
    # Serialisers of other kinds.
    **PICKLES,
    "pickle in Python": _pickled_in_python,
    "pickle in a list": lambda e: pickle.loads(pickle.dumps([e, e["inner"], e])),
    "pickle for multiprocessing": lambda e: pickle.loads(ForkingPickler.dumps(e)),
    "shelve": _shelved,
    "marshal": marshal.dumps,
    "plistlib": lambda e: plistlib.dumps(e).decode(),
    "plistlib of a list": lambda e: plistlib.dumps([{"a": e}], skipkeys=True).decode(),
    "xmlrpc": lambda e: xmlrpc.client.dumps((e,)),
    # Copies.
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "copy.deepcopy in a list": lambda e: copy.deepcopy([e, e]),
    "copy.copy shares": lambda e: [
        getattr(copy.copy(e), name) is getattr(e, name)
        for name in ("key", "exclude_from_indexes", "_meanings")
    ],
    "copy.copy shares values": lambda e: [copy.copy(e)[name] is e[name] for name in e],
    # collections.
    "ChainMap": lambda e: dict(ChainMap({"text": 1}, e)),
    "ChainMap items": lambda e: sorted(ChainMap(e), key=str),
    "ChainMap lookups": lambda e: [ChainMap({}, e)[name] for name in e],
    "ChainMap |": lambda e: dict(ChainMap({"extra": 1}) | e),
    "ChainMap | reflected": lambda e: dict(e | ChainMap({"extra": 1})),
    "OrderedDict": OrderedDict,
    "OrderedDict | ": lambda e: OrderedDict(extra=1) | e,
    "| OrderedDict": lambda e: e | OrderedDict(extra=1),
    "OrderedDict update": lambda e: OrderedDict(text=1).update(e),
    "defaultdict": lambda e: defaultdict(None, e),
    "defaultdict |": lambda e: defaultdict(None, extra=1) | e,
    "| defaultdict": lambda e: e | defaultdict(None, extra=1),
    "Counter": lambda e: dict(Counter(e)),
    "Counter of names": lambda e: Counter(list(e)),
    "UserDict": lambda e: dict(UserDict(e)),
    "UserDict ==": lambda e: (UserDict(e) == e, e == UserDict(e)),
    "UserDict |": lambda e: dict(UserDict(extra=1) | e),
    "deque": lambda e: list(deque(e)),
    "namedtuple": _named_tuple,
    # Other takers of mappings and keywords.
    "argparse.Namespace": lambda e: vars(argparse.Namespace(**e)),
    "dataclass": lambda e: vars(_Plain(**e)),
    "dataclasses.asdict": lambda e: sorted(dataclasses.asdict(_Holder(e))["value"]),
    "enum": _enumerated,
    "functools.partial": lambda e: functools.partial(dict, **e)(),
    "functools.partial keywords": lambda e: dict(functools.partial(dict, **e).keywords),
    "functools.reduce": lambda e: functools.reduce(operator.or_, [{}, e, e]),
    "functools.singledispatch": _dispatched,
    "inspect bind": _bound,
    "mock.call": lambda e: mock.call(**e).kwargs,
    "mock.patch.dict": _patched_dict,
    "mock called with": lambda e: mock.Mock(return_value=e)(e)["text"],
    "thread": _in_thread,
    # Operators and iteration.
    "itemgetter": operator.itemgetter("text", "inner"),
    "itemgetter missing": operator.itemgetter("missing"),
    "methodcaller": operator.methodcaller("get", "text"),
    "attrgetter": operator.attrgetter("kind", "id", "key.name"),
    "operator.or_": lambda e: operator.or_(e, {"extra": 1}),
    "operator.contains": lambda e: operator.contains(e, "text"),
    "operator.countOf": lambda e: operator.countOf(e, "text"),
    "operator.length_hint": operator.length_hint,
    "operator.getitem": lambda e: operator.getitem(e, "text"),
    "operator.delitem": lambda e: operator.delitem(e, "text"),
    "operator.eq": lambda e: operator.eq(e, dict(e)),
    "operator.ne": lambda e: operator.ne(dict(e), e),
    "itertools.chain": lambda e: list(itertools.chain(e, e.values())),
    "itertools.islice": lambda e: list(itertools.islice(e.items(), 2)),
    "itertools.starmap": lambda e: list(itertools.starmap(lambda k, v: (v, k), e.items())),
    "itertools.compress": lambda e: list(itertools.compress(e, e.values())),
    "heapq": lambda e: heapq.nsmallest(2, e),
    "random.choice": lambda e: random.Random(1).choice(list(e.items())),
    # Text.
    "pprint": lambda e: pprint.pformat(e),
    "pprint narrow": lambda e: pprint.pformat([e], width=20),
    "pprint of a dict": lambda e: pprint.pformat({"entity": e}, sort_dicts=False),
    "reprlib": reprlib.repr,
    "string.Template": lambda e: string.Template("$text and ${inner}").substitute(e),
    "string.Template safe": lambda e: string.Template("$text $missing").safe_substitute(e),
    "string.Template keywords": lambda e: string.Template("$text").substitute({"text": 1}, **e),
    "string.Formatter": lambda e: string.Formatter().vformat("{text} {inner}", (), e),
    "logging args": lambda e: _record(e).getMessage(),
    "logging extra": _formatted_with_extra,
    "logging.makeLogRecord": lambda e: {name: vars(logging.makeLogRecord(e))[name] for name in e},
    "csv": _csv,
    "sqlite3": _sql,
    "sqlite3 executemany": _many_sql,
    "urlencode": urllib.parse.urlencode,
    "urlencode doseq": lambda e: urllib.parse.urlencode(e, doseq=True),
    "configparser": _configured,
    "ElementTree attributes": lambda e: ET.Element("x", e).attrib,
    "ElementTree keywords": lambda e: ET.Element("x", **e).attrib,
    # Objects.
    "weakref": _doubled,
    "sys.getsizeof": lambda e: sys.getsizeof(e) > 0,
    "inspect.getmembers": lambda e: [
        value for name, value in inspect.getmembers(e) if name in ("key", "kind", "_meanings")
    ],
    "unittest": _asserted_equal,
}


test_same_result = comparison_of(CONSUMERS)
