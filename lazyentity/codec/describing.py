"""Texts of values for errors, notes, log lines, warnings and profiles.

A description of an error must not take its place. Every value that another program made, and
every key, name and error, gets into a text by the functions of this module: they never raise an
``Exception``. Another ``BaseException`` passes: ``KeyboardInterrupt``, ``SystemExit`` and the
cancellation of a task are about the program, not about the value.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

LONGEST = 8000
"""The characters that a text has of a value. Every key that Datastore stores has fewer."""

# Not the attributes of the class, which its metaclass may replace.
_module_of: Callable[[type], Any] = type.__dict__["__module__"].__get__
_qualname_of: Callable[[type], str] = type.__dict__["__qualname__"].__get__


def safe_repr(value: object) -> str:
    """Return ``repr(value)``, or the type of ``value`` and the error that ``repr()`` raised.

    A text longer than :data:`LONGEST` is cut off.
    """
    # The text of a huge string would be larger still.
    is_long = type(value) in (str, bytes) and len(value) > LONGEST  # type: ignore[arg-type]  # both
    return _text(repr, value[: LONGEST + 1] if is_long else value)  # type: ignore[index]  # as above


def safe_str(value: object) -> str:
    """As :func:`safe_repr`, of ``str(value)``."""
    return _text(str, value)


def _text(make: Callable[[Any], str], value: object) -> str:
    try:
        # Of a subclass of str, which could format itself, a plain string.
        text = str.__str__(make(value))
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    except Exception as error:  # noqa: BLE001  # of any class
        try:
            return f"<{describe_type(value)} whose text raised {describe_type(error)}>"
        except Exception:  # noqa: BLE001  # the stack or the memory ends here
            return "<an object without a text>"


def describe_type(given: object) -> str:
    """Return the qualified name of the type of ``given``, without ``builtins``."""
    kind = type(given)
    name = str.__str__(_qualname_of(kind))
    try:
        module = _module_of(kind)
    except AttributeError:
        # Code of no module made it.
        return name
    if type(module) is not str or module == "builtins":
        return name
    return f"{module}.{name}"


def property_name(name: object) -> str:
    """Return the name of a property as :func:`safe_repr` shows a plain string.

    Args:
        name: a string, or its bytes, which some models have for names.
    """
    if type(name) is bytes:
        name = name.decode(errors="backslashreplace")
    return safe_repr(plain_name(name) if issubclass(type(name), str) else name)


def plain_name(name: object) -> str:
    """Return the text of a name, which may be of a subclass of ``str`` with another ``str()``."""
    return str.__str__(name) if issubclass(type(name), str) else safe_str(name)


def describe_entity(read_key: Callable[[], object]) -> str:
    """Name an entity by its key.

    Args:
        read_key: returns the key, None if the entity has none; it may raise.
    """
    try:
        key = read_key()
    except Exception:  # noqa: BLE001  # of any class: keys and conversions may be an application's
        return "an entity whose key cannot be read"
    return "an entity without a key" if key is None else f"the entity {safe_repr(key)}"


def add_note(error: BaseException, describe: Callable[[], str]) -> None:
    """Add a note to an error, once, unless the error refuses notes.

    Args:
        error: the error. It may be raised for several reads, as an instance of an application is.
        describe: returns the note; it may raise.
    """
    try:
        note = describe()
        if note not in getattr(error, "__notes__", ()):
            # Not the method of the error's class, which may do anything.
            BaseException.add_note(error, note)
    except Exception:  # noqa: BLE001, S110  # the error itself matters; it may be immutable
        pass


def module_of(frame: FrameType) -> str:
    """Return the name of the module whose code a frame runs; empty, if it has none."""
    # Code can be run with any dict for its globals.
    name = dict.get(frame.f_globals, "__name__")
    return name if type(name) is str else ""
