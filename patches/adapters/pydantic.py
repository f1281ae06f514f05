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
from collections.abc import Callable
from typing import Any

from pydantic_core import ValidationError

from lazyentity._alive import any_undecoded, are_bare, is_bare
from lazyentity._mode import enter, leave, reads_eagerly
from lazyentity.decoding import (
    decode_attributes,
    decode_in_place,
    decoded_in_place,
    is_plain,
    is_taken_for_valid,
)
from lazyentity.patches.adapters import dataclasses_validated, fields, schemas
from lazyentity.patches.adapters.bound import serving_bound
from lazyentity.patches.adapters.calls import deeply_before, seams
from lazyentity.patches.adapters.calls_validated import call, valid
from lazyentity.patches.adapters.results import with_decoding_hooks
from lazyentity.patches.registry import Seam

_Original = Callable[..., Any]
_IsActive = Callable[[], bool]

_CONSTRUCTION = "pydantic._internal._model_construction"

_HOOKS = {"fallback": None}

# pydantic resolves the forward references of an incomplete model in the frame that called the
# original: it goes back a fixed number of frames. A replacement adds one. So the replacement first
# reads an attribute of the validator that is not built yet, at the original's distance.


def init(original: _Original, is_active: _IsActive) -> _Original:
    """Replace the constructor of models."""
    # That of SQLModel does not validate the models of tables.
    checks_models = original.__module__ == "pydantic.main"

    @reads_eagerly
    @functools.wraps(original)
    def __init__(self: Any, /, *args: Any, **data: Any) -> None:  # noqa: N807  # its name
        __tracebackhide__ = True
        if not self.__pydantic_complete__:
            self.__pydantic_validator__.validate_python  # noqa: B018  # builds it
        if not is_active():
            original(self, *args, **data)
            return
        looks = not are_bare(args, data)
        if looks and not (checks_models and _is_closed(type(self))):
            args = tuple(map(valid, args))
            data = {name: valid(value) for name, value in data.items()}
        enter(None)
        try:
            original(self, *args, **data)
        except Exception as error:
            if looks:
                _decode_refused(error)
            raise
        finally:
            leave()

    return __init__


def model_validate(original: Any, is_active: _IsActive) -> Any:
    """Replace a class method that validates its first argument."""
    validate = original.__func__
    checks_models = (validate.__module__, validate.__name__) == ("pydantic.main", "model_validate")

    @reads_eagerly
    @functools.wraps(validate)
    def model_validate(cls: Any, obj: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if not cls.__pydantic_complete__:
            cls.__pydantic_validator__.validate_python  # noqa: B018  # builds it
        if not is_active():
            return validate(cls, obj, *args, **options)
        is_later = checks_models and _is_closed(cls)
        if not is_later and not is_bare(obj):
            # The check of the model decodes the attributes that are read.
            is_later = type(obj) is not cls and fields.stored_names(cls, type(obj)) is not None
            if not is_later:
                obj = valid(obj)
        if options and not are_bare((), options):
            # SQLModel takes an update.
            decode_in_place(options)
        enter(None)
        try:
            return validate(cls, obj, *args, **options)
        except Exception as error:
            if is_later:
                _decode_refused(error)
            raise
        finally:
            leave()

    return classmethod(model_validate)


def _schema(model: Any) -> Any:
    # An older version has none before the model is built.
    return getattr(model, "__pydantic_core_schema__", None)


def _is_closed(model: Any) -> bool:
    return fields.is_closed(model, _schema(model))


def _decode_refused(error: Exception) -> None:
    """Decode the entities in the inputs that an error of pydantic holds."""
    if any_undecoded() and isinstance(error, ValidationError):
        errors = error.errors(include_url=False, include_context=False)
        decode_in_place([each["input"] for each in errors])


def _can_dump(owner: Any, schema: Any, value: Any, options: dict[str, Any]) -> bool:
    """Say whether a value can be dumped without a look into it."""
    return (
        not any_undecoded()
        # Their items can make entities.
        and not hasattr(type(value), "__next__")
        and not options.get("serialize_as_any")
        and fields.is_closed(owner, schema)
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
        if (
            self.__pydantic_extra__ or self.__private_attributes__ or not is_bare(self.__dict__)
        ) and not _can_dump(type(self), _schema(type(self)), self, options):
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
        if not is_bare(value):
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
    validates = decoded is valid

    def replace(original: _Original, is_active: _IsActive) -> _Original:
        # Strings are validated without the check of models.
        checks_models = original.__name__ == "validate_python"

        @reads_eagerly
        @functools.wraps(original)
        def decoding(self: Any, value: Any = _MISSING, /, *args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            if value is _MISSING:
                # The original says which argument that is.
                return original(self, **options)
            # An older version builds it when it is asked for, at a fixed distance from the caller.
            schema = self.__dict__.get("core_schema")
            if checks_models:
                is_later = fields.is_closed(self, schema)
            elif validates:
                is_later = False
            else:
                is_later = _can_dump(self, schema, value, options)
            if not is_later and not is_bare(value) and is_active():
                value = decoded(value)
            if options and options.get("fallback") is not None and is_active():
                _, options = with_decoding_hooks(_HOOKS, (), options)
            enter(None)
            try:
                # The usual call is made without unpacking arguments, which is slower.
                if not args and not options:
                    return original(self, value)
                return original(self, value, *args, **options)
            except Exception as error:
                # Checking before each call would cost more.
                if getattr(self, "pydantic_complete", True):
                    if is_later:
                        _decode_refused(error)
                    raise
            finally:
                leave()
            self.validator.validate_python  # noqa: B018  # builds it
            return decoding(self, value, *args, **options)

        return decoding

    return replace


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
        # A profile notes the models that are made of an entity, also of a decoded one.
        if not issubclass(kind, dict) and not any_undecoded():
            return is_instance
        if not hasattr(kind, "_decode_all") and _is_closed(cls):
            # Entities in its attributes get to models, which are checked, or are refused.
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
                decode_attributes(instance, fields.stored_names(cls, kind))
        return is_instance

    return __instancecheck__


SEAMS = serving_bound(
    *seams("pydantic_core", "to_json", "to_jsonable_python", look=deeply_before, about=_HOOKS),
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
    *dataclasses_validated.SEAMS,
    Seam(_CONSTRUCTION, "ModelMetaclass.__instancecheck__", _instancecheck),
    *schemas.SEAMS,
)
