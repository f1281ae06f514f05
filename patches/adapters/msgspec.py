"""msgspec: encoders refuse the sentinel, unless an ``enc_hook`` takes it; ``convert`` keeps it."""

from __future__ import annotations

from typing import Any

from lazyentity.patches.adapters.calls import CallSeam, before, on_failure, seams

_HOOKS = {"enc_hook": None}


def _encode(_: Any, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    if getattr(wrapped.__self__, "enc_hook", None) is not None:
        return before(None, wrapped, instance, args, kwargs)
    return on_failure({}, wrapped, instance, args, kwargs)


def _encoder(module: str, *methods: str) -> tuple[CallSeam, ...]:
    return (
        *seams(module, *(f"Encoder.{name}" for name in methods), look=_encode),
        CallSeam(module, "Encoder.encode_into", before),
    )


SEAMS = (
    CallSeam("msgspec", "to_builtins", on_failure, _HOOKS),
    CallSeam("msgspec", "convert", before),
    *seams("msgspec.json", "encode", look=on_failure, about=_HOOKS),
    *_encoder("msgspec.json", "encode", "encode_lines"),
    *seams("msgspec.msgpack", "encode", look=on_failure, about=_HOOKS),
    *_encoder("msgspec.msgpack", "encode"),
    *seams("msgspec.yaml", "encode", look=on_failure, about=_HOOKS),
    *seams("msgspec.toml", "encode", look=on_failure, about=_HOOKS),
)
