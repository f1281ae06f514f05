"""msgspec: encoders refuse the sentinel, unless an ``enc_hook`` takes it; ``convert`` keeps it."""

from __future__ import annotations

from typing import Any

from lazyentity.patches.adapters.calls import before, instances, on_failure, seam, seams

_HOOKS = {"enc_hook": None}


def _encode(_: Any, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    if wrapped.__self__.enc_hook is not None:
        return before(None, wrapped, instance, args, kwargs)
    return on_failure({}, wrapped, instance, args, kwargs)


_ENCODER = {"encode": _encode, "encode_lines": _encode, "encode_into": before}

SEAMS = (
    seam("msgspec", "to_builtins", on_failure, _HOOKS),
    seam("msgspec", "convert", before),
    *seams("msgspec.json", "encode", look=on_failure, about=_HOOKS),
    instances("msgspec.json", "Encoder", _ENCODER),
    *seams("msgspec.msgpack", "encode", look=on_failure, about=_HOOKS),
    instances("msgspec.msgpack", "Encoder", {**_ENCODER}),
    *seams("msgspec.yaml", "encode", look=on_failure, about=_HOOKS),
    *seams("msgspec.toml", "encode", look=on_failure, about=_HOOKS),
)
