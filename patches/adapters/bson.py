"""bson, of pymongo, and the messages that pymongo makes of documents.

bson refuses the sentinel, unless a fallback encoder takes it. pymongo writes messages into buffers.
"""

from __future__ import annotations

import copy
import operator
from typing import Any

from bson.code import Code
from bson.codec_options import CodecOptions, TypeRegistry

from lazyentity._alive import holds_no_values
from lazyentity._inplace import When
from lazyentity.patches.adapters.calls import before, seams
from lazyentity.patches.adapters.results import decoding_hook
from lazyentity.search import children_of

_encoders = operator.attrgetter("_encoder_map", "_fallback_encoder")
# Nothing in the options is data.
holds_no_values(CodecOptions)
# A version without these private names is not adapted, and patch() warns of it.
_encoders(TypeRegistry())


def _before(_: Any, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Look for entities before the call, and in the results of the registered encoders."""
    args = tuple(map(_with_decoding_encoders, args))
    kwargs = {name: _with_decoding_encoders(value) for name, value in kwargs.items()}
    return before(None, wrapped, instance, args, kwargs)


def _with_decoding_encoders(value: Any) -> Any:
    """Return codec options whose encoders have decoded results; any other value as it is."""
    # By the type: a document of the application may pass for an object of another class.
    if not issubclass(type(value), CodecOptions) or not _has_encoders(value):
        return value
    registry: Any = value.type_registry
    own, fallback = _encoders(registry)
    # A copy: the application can ask its registry for the encoders.
    registry = copy.copy(registry)
    registry._fallback_encoder = decoding_hook(fallback)
    registry._encoder_map = {kind: decoding_hook(own[kind]) for kind in list(own)}
    return value.with_options(type_registry=registry)


def _has_encoders(options: Any) -> bool:
    own, fallback = _encoders(options.type_registry)
    return bool(own) or fallback is not None


@children_of.register
def _scope_of(code: Code) -> list[Any]:
    return [code.scope]


_WHEN = When(options=(CodecOptions, _has_encoders))

_MESSAGES = (
    *("_dict_to_bson", "_op_msg_uncompressed", "_batched_op_msg"),
    *("_encode_batched_op_msg", "_encode_batched_write_command"),
)

SEAMS = (
    *seams("bson", "_dict_to_bson", look=_before, when=_WHEN),
    *seams("pymongo.message", *_MESSAGES, look=_before, when=_WHEN),
)
