"""pydantic: the methods of pydantic-core's validators and serializers.

pydantic-core validates unions, fallbacks and ``from_attributes`` without an error where it finds a
sentinel, and its serializers hand the sentinel on. So the replacements look for entities before
every call. All models, dataclasses, type adapters and validated functions call these methods, also
those that were made before ``patch()``; and pydantic's functions in Python stay as they are.

Code of the application that pydantic-core calls reads stock entities, because no argument holds
these. Functions of ``validate_call`` are whole parts of an application, and read lazily.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from types import MethodDescriptorType
from typing import Any

from pydantic_core import ArgsKwargs, SchemaSerializer, SchemaValidator, ValidationError

from lazyentity._alive import any_undecoded, are_bare, holds_its_fields, is_bare
from lazyentity._inplace import SLOTS, When, another, serve_bound, settle_check
from lazyentity._mode import enter, leave, reads_eagerly
from lazyentity.patches.adapters import cores, fields, schemas
from lazyentity.patches.adapters.calls import CallSeam, before, deeply_before, seams
from lazyentity.patches.adapters.reading import Reading
from lazyentity.patches.adapters.results import with_decoding_hooks
from lazyentity.patches.registry import Seam
from lazyentity.search import (
    children_of,
    decode_attributes,
    decode_in_place,
    decoded_in_place,
    is_plain,
    is_taken_for_valid,
    type_version,
)

_IsActive = Callable[[], bool]

_CORE = "pydantic_core"
_HOOKS = {"fallback": None}
_FLAGS = ("serialize_as_any", "polymorphic_serialization")

valid = functools.partial(decoded_in_place, validating=True)


@children_of.register
def _arguments_of(arguments: ArgsKwargs) -> Any:
    return [arguments.args, arguments.kwargs]


def _decode_refused(error: Exception) -> None:
    """Decode the entities in the inputs that an error of pydantic holds."""
    if isinstance(error, ValidationError) and any_undecoded():
        errors = error.errors(include_url=False, include_context=False)
        # Each missing field has the whole input. Arguments that are missing have all the others,
        # of which pydantic hands on some unread.
        inputs = {id(each["input"]): each["input"] for each in errors}
        decode_in_place([each for each in inputs.values() if type(each) is not ArgsKwargs])


def _valid_arguments(arguments: Any, unread: int) -> Any:
    """Return the arguments of a validated function, or of a dataclass, with decoded entities."""
    args, kwargs = arguments.args, arguments.kwargs or {}
    if are_bare(args[unread:], kwargs):
        return arguments
    args = (*args[:unread], *map(valid, args[unread:]))
    return ArgsKwargs(args, {name: valid(value) for name, value in kwargs.items()})


def _input(parameter: Any, wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Look into the value that a method of a validator gets, unless its schema is closed.

    ``parameter`` is its name and its position.
    """
    __tracebackhide__ = True
    name, position = parameter
    is_given = len(args) > position
    value = args[position] if is_given else kwargs.get(name)
    is_later = False
    looks = not is_bare(value)
    # The native backend calls a hook until the answers are there; the pure one keeps none.
    is_asked = SLOTS or (looks and fields.gives_attributes(type(value)))
    known = cores.known_of(wrapped.__self__) if is_asked else cores.UNKNOWN
    if looks:
        # Strings are validated without the check of models.
        if wrapped.__name__ == _CHECKS_MODELS:
            # Of an object, the check of the model decodes the attributes that are read. There is
            # none of a value for an instance that was made already; a dict has values alone.
            is_checked = type(value) is dict or kwargs.get("self_instance") is None
            is_later = is_checked and (known.is_closed or _gives_attributes(value, known))
        if type(value) is ArgsKwargs:
            made = value if is_later else _valid_arguments(value, known.unread)
        else:
            made = value if is_later else valid(value)
        if made is value:
            pass
        elif is_given:
            args = (*args[:position], made, *args[position + 1 :])
        else:
            kwargs = {**kwargs, name: made}
    try:
        return wrapped(*args, **kwargs)
    except ValidationError as error:
        if looks:
            _decode_refused(error)
        raise


def _gives_attributes(value: Any, known: cores.Known) -> bool:
    model = None if known.model is None else known.model()
    kind = type(value)
    return not (model is None or kind is model) and fields.stored_names(model, kind) is not None


@reads_eagerly
def _assigned(parameter: Any, wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Look into the value that is assigned to a field.

    The function is marked, because pydantic's function that calls it may also call the setter of a
    property, which is no part of a validation.
    """
    __tracebackhide__ = True
    enter(None)
    try:
        return _input(parameter, wrapped, None, args, kwargs)
    finally:
        leave()


def _dumped(_: None, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    """Look into the value that a method of a serializer gets, unless it can be dumped as it is."""
    __tracebackhide__ = True
    kwargs = with_decoding_hooks(_HOOKS, (), kwargs)[1]
    value = args[0] if args else kwargs.get("value")
    known = cores.known_of(wrapped.__self__) if SLOTS else cores.UNKNOWN
    if not is_bare(value) and not _can_dump(known, value, kwargs):
        made = decoded_in_place(value)
        if made is value:
            pass
        elif args:
            args = (made, *args[1:])
        else:
            kwargs = {**kwargs, "value": made}
    return wrapped(*args, **kwargs)


def _written(_: None, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    """Look into the inputs and contexts of an error, which is written as JSON."""
    __tracebackhide__ = True
    if any_undecoded():
        decode_in_place(wrapped.__self__.errors(include_url=False))
    return wrapped(*args, **kwargs)


def _can_dump(known: cores.Known, value: Any, options: dict[str, Any]) -> bool:
    """Say whether a value can be dumped without a look into it."""
    return (
        known.is_closed
        and not any_undecoded()
        # Their items can make entities.
        and not hasattr(type(value), "__next__")
        and not any(map(options.get, _FLAGS))
    )


def _instancecheck(original: Any, is_active: _IsActive) -> Any:
    """Replace the check whether an object is an instance of a model.

    pydantic-core makes this check before it takes the fields of a model from a dict or from the
    attributes of another object, wherever the object comes from and however deep it is.
    """
    if type(original) is MethodDescriptorType:
        # Newer versions have that of Python's own type.
        def check(real: Any, cls: Any, args: Any, _: Any) -> Any:
            return _checked(is_active, real, cls, args[0])

        made = another(original, check, When(is_check=True))
        if made is not None:
            return made

    def __instancecheck__(cls: Any, instance: Any, /) -> Any:  # noqa: N807  # its name
        if type(instance) is dict:
            # The most frequent case: instances of a model have their own class.
            return False
        return _checked(is_active, original, cls, instance)

    return __instancecheck__


def _checked(is_active: _IsActive, original: Any, cls: Any, instance: Any) -> Any:
    kind: Any = type(instance)
    is_instance = original(cls, instance)
    # A profile notes the models that are made of an entity, also of a decoded one.
    if not issubclass(kind, dict) and not any_undecoded():
        return is_instance
    # Before its schema is read: the class may change meanwhile.
    version = type_version(cls)
    if not hasattr(kind, "_decode_all") and fields.is_closed(
        # An older version has none before the model is built.
        cls,
        getattr(cls, "__pydantic_core_schema__", None),
    ):
        # Entities in its attributes get to models, which are checked, or are refused.
        settle_check(version)
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


_Core = functools.partial(CallSeam, _CORE)
"""Makes the seam of a method of pydantic-core."""


class _LastOfValidators(CallSeam):
    """The last method of validators: those that were bound before get the replacements, too."""

    def install(self, is_active: _IsActive) -> None:
        super().install(is_active)
        # pydantic keeps them for the results of validated functions, and plugins for all models.
        if not serve_bound(SchemaValidator, _VALIDATING):
            module = sys.modules.get("pydantic._internal._validate_call")
            wrapper = getattr(module, "ValidateCallWrapper", None)
            for each in gc.get_objects():
                # By identity: asking for the name of a class may run code of the application.
                if type(each) is wrapper:
                    _bind_again(each)


class _LastOfSerializers(CallSeam):
    """The last method of serializers, as :class:`_LastOfValidators`."""

    def install(self, is_active: _IsActive) -> None:
        super().install(is_active)
        serve_bound(SchemaSerializer, ("to_python", "to_json"))


def _bind_again(call: Any) -> None:
    name = "__return_pydantic_validator__"
    validator = getattr(getattr(call, name, None), "__self__", None)
    if type(validator) is SchemaValidator:
        setattr(call, name, validator.validate_python)


class _Model(Reading):
    """The constructor of models."""

    def install(self, is_active: _IsActive) -> None:
        super().install(is_active)
        model = getattr(sys.modules[self.module], self.path.partition(".")[0])
        names = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
        holds_its_fields(model, tuple(vars(model)[name] for name in names))


_CHECKS_MODELS = "validate_python"
_VALIDATING = (_CHECKS_MODELS, "validate_json", "validate_strings", "isinstance_python")
_INPUT, _ASSIGNED = ("input", 0), ("field_value", 2)
_OF_TEXT = When(only=0, is_noted=True)
_VALIDATION = _OF_TEXT._replace(closed=cores.CLOSED, refused=_decode_refused)
_DUMP = When(only=0, closed=cores.CLOSED, flags=_FLAGS, hooks=_HOOKS, is_noted=True)

SEAMS = (
    *seams(_CORE, "to_json", "to_jsonable_python", look=deeply_before, about=_HOOKS),
    # Its message has values of the context.
    *(seams(_CORE, "PydanticCustomError.__new__", look=before) if SLOTS else ()),
    _Core("ValidationError.json", _written, when=When(always=True)),
    _Core("SchemaValidator.validate_python", _input, _INPUT, when=_VALIDATION),
    _Core("SchemaValidator.validate_json", _input, _INPUT, when=_OF_TEXT),
    _Core("SchemaValidator.isinstance_python", _input, _INPUT, when=_OF_TEXT),
    _LastOfValidators(_CORE, "SchemaValidator.validate_strings", _input, _INPUT, when=_OF_TEXT),
    _Core("SchemaValidator.validate_assignment", _assigned, _ASSIGNED, when=When(always=True)),
    _Core("SchemaSerializer.to_python", _dumped, when=_DUMP),
    _LastOfSerializers(_CORE, "SchemaSerializer.to_json", _dumped, when=_DUMP),
    _Model("pydantic.main", "BaseModel.__init__"),
    Reading("pydantic.main", "BaseModel.model_validate"),
    Reading("pydantic.main", "BaseModel.model_validate_json"),
    Reading("pydantic.main", "BaseModel.model_validate_strings"),
    Reading("pydantic.main", "BaseModel.model_dump"),
    Reading("pydantic.main", "BaseModel.model_dump_json"),
    Reading("pydantic.root_model", "RootModel.__init__"),
    Reading("pydantic.type_adapter", "TypeAdapter.validate_python"),
    Reading("pydantic.type_adapter", "TypeAdapter.validate_json"),
    Reading("pydantic.type_adapter", "TypeAdapter.validate_strings"),
    Reading("pydantic.type_adapter", "TypeAdapter.dump_python"),
    Reading("pydantic.type_adapter", "TypeAdapter.dump_json"),
    Reading("pydantic._internal._dataclasses", "complete_dataclass", "__init__"),
    Seam(
        "pydantic._internal._model_construction", "ModelMetaclass.__instancecheck__", _instancecheck
    ),
    *schemas.SEAMS,
)
