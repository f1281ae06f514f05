"""pydantic: the functions through which Python code calls pydantic-core.

pydantic-core validates unions, fallbacks and ``from_attributes`` without an error where it finds a
sentinel, and its serializers hand the sentinel on. So the replacements look for entities before
every call. They replace methods of the classes that all models, type adapters and validated
functions share, and so cover those made before ``patch()`` as well.

Code of the application that pydantic-core calls reads stock entities, because no argument holds
these. Functions of ``validate_call`` are whole parts of an application, and read lazily.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from lazyentity._alive import any_undecoded, are_settled, is_settled
from lazyentity._inplace import SLOTS
from lazyentity.codec.mode import enter, leave, reads_eagerly
from lazyentity.decoding import (
    decode_attributes,
    decode_in_place,
    decoded_in_place,
    is_plain,
    is_taken_for_valid,
)
from lazyentity.patches.adapters import fields, schemas
from lazyentity.patches.adapters.bound import serving_bound
from lazyentity.patches.adapters.calls import CallSeam, before, seams
from lazyentity.patches.adapters.calls_validated import CALLS, call, itself, valid
from lazyentity.patches.adapters.results import with_decoding_hooks
from lazyentity.patches.registry import Seam

_Original = Callable[..., Any]
_IsActive = Callable[[], bool]

_CONSTRUCTION = "pydantic._internal._model_construction"
_DATACLASSES = "pydantic._internal._dataclasses"

_HOOKS = {"fallback": None}

# pydantic resolves the forward references of an incomplete model in the frame that called the
# original: it goes back a fixed number of frames. A replacement adds one. So the replacement first
# reads an attribute of the validator that is not built yet, at the original's distance.


def init(original: _Original, is_active: _IsActive) -> _Original:
    """Replace the constructor of models."""

    @reads_eagerly
    @functools.wraps(original)
    def __init__(self: Any, /, *args: Any, **data: Any) -> None:  # noqa: N807  # its name
        __tracebackhide__ = True
        if not self.__pydantic_complete__:
            self.__pydantic_validator__.validate_python  # noqa: B018  # builds it
        if not is_active():
            original(self, *args, **data)
            return
        if not are_settled(args, data) and (args or not is_plain(data)):
            args = tuple(map(valid, args))
            data = {name: valid(value) for name, value in data.items()}
        enter(None)
        try:
            original(self, *args, **data)
        finally:
            leave()

    return __init__


def model_validate(original: Any, is_active: _IsActive) -> Any:
    """Replace a class method that validates its first argument."""
    validate = original.__func__

    @reads_eagerly
    @functools.wraps(validate)
    def model_validate(cls: Any, obj: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if not cls.__pydantic_complete__:
            cls.__pydantic_validator__.validate_python  # noqa: B018  # builds it
        if not is_active():
            return validate(cls, obj, *args, **options)
        if not is_settled(obj) and not is_plain(obj) and not _is_checked_later(cls, obj):
            obj = valid(obj)
        if options and not are_settled((), options):
            # SQLModel takes an update.
            decode_in_place(options)
        enter(None)
        try:
            return validate(cls, obj, *args, **options)
        finally:
            leave()

    return classmethod(model_validate)


def _names_read(model: Any, kind: Any) -> tuple[str, ...] | None:
    """Return the names of the attributes that pydantic-core reads; None, if it may read any.

    Args:
        model: takes its fields from the attributes of an object.
        kind: the type of the object.
    """
    # It takes the fields of a mapping by its methods, and their values may be in any attribute.
    return None if hasattr(kind, "__getitem__") else fields.read_names(model)


def _is_checked_later(model: Any, value: Any) -> bool:
    """Say whether pydantic-core reads attributes of ``value`` alone, after the check of the model.

    Then the check decodes these. It is not made of an instance of the very class.
    """
    kind = type(value)
    return (
        kind is not model
        and not hasattr(kind, "__getitem__")
        and not hasattr(kind, "__iter__")
        and fields.read_names(model) is not None
    )


def _model_dump(original: _Original, is_active: _IsActive) -> _Original:
    @reads_eagerly
    @functools.wraps(original)
    def model_dump(self: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if not self.__pydantic_complete__:
            self.__pydantic_serializer__.to_python  # noqa: B018  # builds it
        if not is_active():
            return original(self, *args, **options)
        if any_undecoded() and (
            self.__pydantic_extra__ or self.__private_attributes__ or not is_plain(vars(self))
        ):
            decode_in_place(self)
        if options:
            _, options = with_decoding_hooks(_HOOKS, (), options)
        enter(None)
        try:
            return original(self, *args, **options)
        finally:
            leave()

    return model_dump


def _setattr(original: _Original, is_active: _IsActive) -> _Original:
    @reads_eagerly
    @functools.wraps(original)
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807  # its name
        __tracebackhide__ = True
        if not type(self).model_config.get("validate_assignment") or not is_active():
            original(self, name, value)
            return
        if not is_settled(value) and not is_plain(value):
            value = valid(value)
        enter(None)
        try:
            original(self, name, value)
        finally:
            leave()

    return __setattr__


_MISSING: Any = object()


def _of_one(decoded: Callable[[Any], Any]) -> Callable[[_Original, _IsActive], _Original]:
    """Replace a method that validates or serialises its first argument."""

    def replace(original: _Original, is_active: _IsActive) -> _Original:
        @reads_eagerly
        @functools.wraps(original)
        def decoding(self: Any, value: Any = _MISSING, /, *args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            if (value is _MISSING or not is_settled(value)) and not is_plain(value):
                if value is _MISSING:
                    # The original says which argument that is.
                    return original(self, **options)
                if is_active():
                    value = decoded(value)
                    if options:
                        _, options = with_decoding_hooks(_HOOKS, (), options)
            enter(None)
            try:
                # The usual call is made without unpacking arguments, which is slower.
                if not args and not options:
                    return original(self, value)
                return original(self, value, *args, **options)
            except Exception:
                # Checking before each call would cost more.
                if getattr(self, "pydantic_complete", True):
                    raise
            finally:
                leave()
            self.validator.validate_python  # noqa: B018  # builds it
            return decoding(self, value, *args, **options)

        return decoding

    return replace


def _arguments_of(_: Any, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    """Look into the arguments that a dataclass passes to the validator."""
    # The call of a function looked into its arguments; the third frame makes it.
    if sys._getframe(2).f_code in CALLS:
        return wrapped(*args, **kwargs)
    return wrapped(*map(valid, args), **{name: valid(value) for name, value in kwargs.items()})


def _arguments(original: Any, is_active: _IsActive) -> Any:
    """Replace the class in which a dataclass passes its arguments, on the pure backend."""

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not are_settled(args, kwargs) and is_active():
            args = tuple(map(valid, args))
            kwargs = {name: valid(value) for name, value in kwargs.items()}
        return original(args, kwargs)

    # Constructors that are pickled by value refer to the class by its name in pydantic.
    arguments.__module__, arguments.__qualname__ = _DATACLASSES, original.__qualname__
    return arguments


def _instancecheck(original: Any, is_active: _IsActive) -> Any:
    """Replace the check whether an object is an instance of a model.

    pydantic-core makes this check before it takes the fields of a model from a dict or from the
    attributes of another object, wherever the object comes from and however deep it is.
    """

    def __instancecheck__(cls: Any, instance: Any, /) -> Any:  # noqa: N807  # its name
        kind: Any = type(instance)
        if kind is dict:
            # The most frequent case: instances of a model have a class of their own.
            return False
        is_instance = original(cls, instance)
        if not any_undecoded():
            return is_instance
        # Applications check for BaseModel, which nothing is validated as. No flag can mark the
        # checks of pydantic-core: it validates an iterator's items when the application takes them.
        if (
            not (is_instance and is_taken_for_valid(kind))
            and not is_plain(instance)
            and cls.__base__ is not object
            and is_active()
        ):
            if hasattr(kind, "_decode_all"):
                fields.decode_input(cls, instance)
            else:
                decode_attributes(instance, _names_read(cls, kind))
        return is_instance

    return __instancecheck__


class _Method:
    """The replacement of a method of a dataclass.

    It has the attributes of the original. A pickle or a copy of it is the original itself: classes
    of ``__main__`` are pickled with their methods.
    """

    def __init__(self, original: _Original, is_active: _IsActive) -> None:
        functools.update_wrapper(self, original)
        self._original = original
        self._is_active = is_active

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __reduce__(self) -> Any:
        return itself(self._original)


class _Constructor(_Method):
    """The constructor of a dataclass. The class in which it passes its arguments decodes them."""

    @reads_eagerly
    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        if not instance.__pydantic_complete__:
            instance.__pydantic_validator__.validate_python  # noqa: B018  # builds it
        if not self._is_active():
            self._original(instance, *args, **kwargs)
            return
        enter(None)
        try:
            self._original(instance, *args, **kwargs)
        finally:
            leave()


class _Assignment(_Method):
    """The method that validates assignments."""

    @reads_eagerly
    def __call__(self, instance: Any, name: str, value: Any, /) -> None:
        __tracebackhide__ = True
        if not instance.__pydantic_complete__:
            instance.__pydantic_validator__.validate_assignment  # noqa: B018  # builds it
        if not self._is_active():
            self._original(instance, name, value)
            return
        if not is_settled(value) and not is_plain(value):
            value = valid(value)
        enter(None)
        try:
            self._original(instance, name, value)
        finally:
            leave()


def _complete_dataclass(original: _Original, is_active: _IsActive) -> _Original:
    """Replace the function that completes a dataclass; the dataclass has its methods then."""

    @functools.wraps(original)
    def complete_dataclass(cls: Any, *args: Any, **options: Any) -> Any:
        is_complete = original(cls, *args, **options)
        methods: dict[str, type[_Method]] = {"__init__": _Constructor}
        if cls.__pydantic_config__.get("validate_assignment"):
            methods["__setattr__"] = _Assignment
        for name, kind in methods.items():
            method = vars(cls).get(name)
            if inspect.isfunction(method):
                setattr(cls, name, kind(method, is_active))
        return is_complete

    return complete_dataclass


SEAMS = serving_bound(
    *seams("pydantic_core", "to_json", "to_jsonable_python", look=before, about=_HOOKS),
    Seam("pydantic.main", "BaseModel.__init__", init),
    Seam("pydantic.main", "BaseModel.model_validate", model_validate),
    Seam("pydantic.main", "BaseModel.model_validate_json", model_validate),
    Seam("pydantic.main", "BaseModel.model_validate_strings", model_validate),
    Seam("pydantic.main", "BaseModel.model_dump", _model_dump),
    Seam("pydantic.main", "BaseModel.model_dump_json", _model_dump),
    Seam("pydantic.main", "BaseModel.__setattr__", _setattr),
    Seam("pydantic.root_model", "RootModel.__init__", init),
    Seam("pydantic.type_adapter", "TypeAdapter.validate_python", _of_one(valid)),
    Seam("pydantic.type_adapter", "TypeAdapter.validate_json", _of_one(valid)),
    Seam("pydantic.type_adapter", "TypeAdapter.validate_strings", _of_one(valid)),
    Seam("pydantic.type_adapter", "TypeAdapter.dump_python", _of_one(decoded_in_place)),
    Seam("pydantic.type_adapter", "TypeAdapter.dump_json", _of_one(decoded_in_place)),
    Seam("pydantic._internal._validate_call", "ValidateCallWrapper.__call__", call),
    (
        CallSeam("pydantic_core", "ArgsKwargs.__new__", _arguments_of)
        if SLOTS
        else Seam(_DATACLASSES, "ArgsKwargs", _arguments)
    ),
    Seam(_DATACLASSES, "complete_dataclass", _complete_dataclass),
    Seam(_CONSTRUCTION, "ModelMetaclass.__instancecheck__", _instancecheck),
    *schemas.SEAMS,
)
