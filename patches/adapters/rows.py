"""Adapters that are nothing but seams: a row for each callable of a library.

- immutables: a Map keeps the sentinel, as a cache of lru-dict does that is updated from a dict.
- jsonschema-rs refuses the sentinel: in the instance, the schema and the result of a retriever.
- mashumaro: a class with its orjson mixin holds orjson's function from when it was defined. The
  native backend replaces that function in place, and the class needs nothing.
- orjson, ormsgpack and ujson refuse the sentinel, unless a ``default`` takes it. ujson's ``dump``
  writes all or nothing.
- python-rapidjson refuses it, but may have consumed an iterator by then. ``dump`` writes piece by
  piece, and an encoder may have a ``default`` method, whose results are not decoded.
"""

from __future__ import annotations

from lazyentity._inplace import SLOTS
from lazyentity.patches.adapters.calls import CallSeam, before, deeply_before, on_failure, seams

_HOOK = {"default": 1}
_OF_SCHEMA = ("is_valid", "validate", "iter_errors", "evaluate")
_MADE = ("Registry", *(f"Draft{draft}Validator" for draft in (4, 6, 7, 201909, 202012)))
_WITH_RETRIEVER = (
    *("validator_for", "validator_map_for", "bundle", "dereference", "canonicalize"),
    *(f"{kind}.__new__" for kind in _MADE if SLOTS),
)
_OTHERS = (
    *("validator_cls_for", "meta.is_valid", "meta.validate", "canonical.json.to_string"),
    *(f"Validator.{name}" for name in _OF_SCHEMA),
)

SEAMS = (
    CallSeam("immutables", "Map.__init__", before),
    *seams(
        *("jsonschema_rs", *_OF_SCHEMA, *_WITH_RETRIEVER),
        look=before,
        about={"retriever": None},
        is_flat=True,
    ),
    *seams("jsonschema_rs", *_OTHERS, look=before, is_flat=True),
    CallSeam("lru", "LRU.update", before, is_flat=True),
    *(
        ()
        if SLOTS
        else (CallSeam("mashumaro.mixins.orjson", "DataClassORJSONMixin.to_json", on_failure, {}),)
    ),
    CallSeam("orjson", "dumps", on_failure, _HOOK, is_flat=True),
    CallSeam("ormsgpack", "packb", on_failure, _HOOK, is_flat=True),
    *seams(
        *("rapidjson", "dumps", "dump"), look=deeply_before, about={"default": None}, is_flat=True
    ),
    CallSeam("rapidjson", "Encoder.__call__", deeply_before, is_flat=True),
    *seams("ujson", "dumps", "encode", "dump", look=on_failure, about={"default": 8}),
)
