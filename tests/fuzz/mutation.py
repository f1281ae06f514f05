"""Changes to serialised messages that keep their inner lengths right.

If a fuzzer changes one byte of a nested message, it mostly breaks the framing. These functions
change one field at any depth and encode the levels around it again, so that the change reaches the
decoder.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.support.strategies import schema, wire
from tests.support.strategies.wire import Encodable, Field

_SCHEMAS = (
    schema.ENTITY,
    schema.ENTRY,
    schema.VALUE,
    schema.KEY,
    schema.PATH_ELEMENT,
    schema.TIMESTAMP,
    schema.GEO_POINT,
)
_KNOWN = sorted({item for known in _SCHEMAS for item in known.wire_types.items()})
_FIXED = {wire.FIXED64: 8, wire.FIXED32: 4}
_MOST_PADDING = 4
_MOST_TORN = 9

Mutate = Callable[[bytes, int], bytes]
"""Takes bytes and the most bytes to return; returns other bytes."""


def mutated(raw: bytes, max_size: int, chance: random.Random, mutate: Mutate) -> bytes:
    """Return ``raw`` with one change.

    Args:
        raw: a serialised message, or any bytes.
        max_size: the most bytes to return.
        chance: where all choices come from.
        mutate: changes bytes of no known structure.
    """
    fields = parsed(raw)
    # Bytes that are no message have no structure to keep; now and then, a message loses its own.
    if not fields or chance.random() < 0.2:
        return mutate(raw, max_size)
    changed = wire.encode(_with_change(fields, chance, max_size, mutate))
    return changed if len(changed) <= max_size else raw


def with_varint_forms(raw: bytes) -> Iterator[bytes]:
    """Yield a message with one tag, length or number, at any depth, in each other form.

    Args:
        raw: a serialised message without groups; for other bytes, nothing is yielded.
    """
    fields = parsed(raw) or []
    for index, field in enumerate(fields):
        before, after = wire.encode(fields[:index]), wire.encode(fields[index + 1 :])
        for form in wire.varint_forms(field):
            yield before + form.encode() + after
        if field.wire_type == wire.DELIMITED:
            for payload in with_varint_forms(field.payload):
                yield before + field._replace(payload=payload).encode() + after


def blindly(chance: random.Random) -> Mutate:
    """Return a change of bytes of no known structure: one byte, or a cut."""

    def mutate(raw: bytes, max_size: int) -> bytes:
        at = chance.randint(0, len(raw))
        match chance.randrange(4):
            case 0:
                changed = raw[:at]
            case 1:
                changed = raw[:at] + chance.randbytes(1) + raw[at:]
            case 2:
                changed = raw[:at] + raw[at + chance.randint(1, 4) :]
            case _:
                changed = raw[:at] + chance.randbytes(1) + raw[at + 1 :]
        return changed[:max_size]

    return mutate


def _with_change(
    fields: list[Field], chance: random.Random, max_size: int, mutate: Mutate
) -> list[Encodable]:
    index = chance.randrange(len(fields))
    field = fields[index]
    inner = parsed(field.payload) if field.wire_type == wire.DELIMITED else None
    if inner and chance.random() < 0.75:
        payload = wire.encode(_with_change(inner, chance, max_size, mutate))
        return [*fields[:index], field._replace(payload=payload), *fields[index + 1 :]]
    changed: list[Encodable]
    match chance.randrange(9):
        case 0:
            changed = []
        case 1:
            changed = [field, field]
        case 2:
            changed = [field._replace(padding=chance.randint(1, _MOST_PADDING))]
        case 3:
            changed = [_known_field(chance), field]
        case 4:
            number, wire_type = chance.choice(_KNOWN)
            changed = [field._replace(number=number)] if wire_type == field.wire_type else []
        case 5:
            return list(chance.sample(fields, len(fields)))
        case 6:
            # The field is torn off inside of a message whose own length is right.
            changed = [field._replace(payload=field.payload[: -chance.randint(1, _MOST_TORN)])]
        case 7:
            changed = [chance.choice(list(wire.varint_forms(field)))]
        case _:
            changed = [_with_other_payload(field, chance, max_size, mutate)]
    return [*fields[:index], *changed, *fields[index + 1 :]]


def _known_field(chance: random.Random) -> Field:
    number, wire_type = chance.choice(_KNOWN)
    match wire_type:
        case wire.VARINT:
            return wire.integer(number, chance.getrandbits(chance.randint(1, 64)))
        case wire.DELIMITED:
            return wire.delimited(number, chance.randbytes(chance.randint(0, 3)))
        case _:
            return Field(number, wire_type, chance.randbytes(_FIXED[wire_type]))


def _with_other_payload(
    field: Field, chance: random.Random, max_size: int, mutate: Mutate
) -> Field:
    payload = mutate(field.payload, max(1, min(max_size, len(field.payload) + 8)))
    match field.wire_type:
        case wire.VARINT if chance.random() < 0.2:
            # Ten bytes have room for 70 bits, of which a parser accepts 64.
            payload = bytes([*(byte | 0x80 for byte in chance.randbytes(9)), chance.randint(0, 3)])
        case wire.VARINT:
            payload = wire.varint(int.from_bytes(payload[:8], "little"))
        case wire.FIXED64 | wire.FIXED32:
            size = _FIXED[field.wire_type]
            payload = payload[:size].ljust(size, b"\0")
    return field._replace(payload=payload)


def parsed(raw: bytes) -> list[Field] | None:
    """Return the fields of the message ``raw``; None if it cannot be parsed, or has groups."""
    fields = []
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == wire.DELIMITED:
            size, at = _varint(raw, at)
            end = at + size
        elif wire_type == wire.VARINT:
            _, end = _varint(raw, at)
        elif wire_type in _FIXED:
            end = at + _FIXED[wire_type]
        else:
            return None
        if number == 0 or not at <= end <= len(raw):
            return None
        fields.append(Field(number, wire_type, raw[at:end]))
        at = end
    return fields


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return the number at ``at`` and where it ends: behind ``raw``, if it does not."""
    value = 0
    for shift in range(0, 70, 7):
        if at + shift // 7 >= len(raw):
            break
        byte = raw[at + shift // 7]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + shift // 7 + 1
    return value, len(raw) + 1
