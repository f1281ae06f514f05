"""msgspec: encoders refuse the sentinel, unless an ``enc_hook`` takes it; ``convert`` keeps it."""

from __future__ import annotations

from types import MethodType
from typing import Any

from lazyentity._inplace import When
from lazyentity.patches.adapters.calls import (
    CallSeam,
    before,
    decode_in_place_of,
    on_failure,
    seams,
)
from lazyentity.patches.adapters.results import decoding_hook

_HOOKS = {"enc_hook": None}
_OF_ENCODER = When(attribute="enc_hook")
# The other parameters of an encoder; older versions lack the last one.
_OPTIONS = ("decimal_format", "uuid_format", "order")


def _encode(looks_before: bool, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    encoder = wrapped.__self__
    hook = getattr(encoder, "enc_hook", None)
    if hook is not None:
        wrapped = _with_decoding_hook(wrapped, hook)
    if hook is not None or looks_before:
        return before(None, wrapped, instance, args, kwargs)
    return on_failure({}, wrapped, instance, args, kwargs)


def _with_decoding_hook(wrapped: Any, hook: Any) -> Any:
    """Return a method of an encoder that decodes the results of its hook."""
    encoder = wrapped.__self__
    # An encoder keeps its hook, which the application can ask for.
    options = {name: getattr(encoder, name) for name in _OPTIONS if hasattr(encoder, name)}
    return MethodType(wrapped.__func__, type(encoder)(enc_hook=decoding_hook(hook), **options))


def _encoder(module: str, *others: str) -> tuple[CallSeam, ...]:
    """Return the seams of an encoder; ``others`` are methods that did something if they fail."""
    on_failure = _OF_ENCODER._replace(found=decode_in_place_of)
    return (
        CallSeam(module, "Encoder.encode", _encode, False, when=on_failure),
        *seams(
            module,
            *(f"Encoder.{name}" for name in others),
            look=_encode,
            about=True,
            when=_OF_ENCODER,
        ),
    )


SEAMS = (
    CallSeam("msgspec", "to_builtins", on_failure, _HOOKS),
    CallSeam("msgspec", "convert", before),
    *seams("msgspec.json", "encode", look=on_failure, about=_HOOKS),
    # One writes into a buffer, the other takes the items of an iterator.
    *_encoder("msgspec.json", "encode_into", "encode_lines"),
    *seams("msgspec.msgpack", "encode", look=on_failure, about=_HOOKS),
    *_encoder("msgspec.msgpack", "encode_into"),
    *seams("msgspec.yaml", "encode", look=on_failure, about=_HOOKS),
    *seams("msgspec.toml", "encode", look=on_failure, about=_HOOKS),
)
