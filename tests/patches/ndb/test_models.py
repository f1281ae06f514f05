"""A model that is read under the patch is to its user the model that stock ndb makes."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import pickletools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from google.cloud.ndb import model
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.patches.ndb.model_strategies import Stored, changed_entities, stored_entities
from tests.patches.ndb.pairs import (
    CLIENT,
    FEWER,
    Pair,
    assigning,
    deleting,
    is_lazy,
    lazy_model,
    patched,
    reading,
    seen,
    stock_model,
    without_class,
    written,
)
from tests.patches.ndb.raw_entities import names_in
from tests.support.concurrency import switching_often, together
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("either_context")


FEW = settings(max_examples=settings().max_examples // 5, derandomize=True)
ENTITIES = st.one_of(stored_entities(), changed_entities())


def _pickled(protocol: int, entity: Any) -> Any:
    return pickle.loads(pickle.dumps(entity, protocol))


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": partial(_pickled, protocol)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


def is_kept(name: str, entity: Any) -> bool:
    """Say whether reading an attribute twice gives one object."""
    return getattr(entity, name) is getattr(entity, name)


def on_values(operation: Callable[[dict[str, Any]], Any], entity: Any) -> Any:
    """Apply ``operation`` to the values of a model."""
    return operation(entity._values)


def state_of(name: str, entity: Any) -> Any:
    """Return the state of a property's value."""
    prop = entity._properties[name]
    return prop._has_value(entity), prop._is_initialized(entity)


def pair_of(stored: Stored) -> Pair:
    """Make the two models of an entity; another example is tried if stock ndb refuses to."""
    stock = outcome(stock_model, stored.raw)
    assume(not isinstance(stock, Raised))
    return Pair(stock, lazy_model(stored.raw))


@FEWER
@given(stored=stored_entities())
def test_what_ndb_stored(stored: Stored) -> None:
    """All of the model is the same, read at once."""
    pair_of(stored).agree()


@FEWER
@given(stored=changed_entities())
def test_what_others_stored(stored: Stored) -> None:
    """The models are equal also if the entity does not fit the model's class."""
    pair_of(stored).agree()


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_attributes_in_any_order(stored: Stored, data: st.DataObject) -> None:
    """Each has the value, or raises the error, that it has in stock, the second time, too."""
    pair = pair_of(stored)
    names = [*stored.shape.names, "key", "dynamic", "unknown"]
    for name in data.draw(st.permutations(names)):
        for _ in range(2):
            pair.both(reading(name))
        pair.both(partial(is_kept, name))
    pair.agree()


@FEWER
@given(stored=ENTITIES)
def test_to_dict(stored: Stored) -> None:
    pair = pair_of(stored)
    pair.both(lambda entity: entity.to_dict())
    pair.both(lambda entity: entity.to_dict(include=stored.shape.names[:2]))
    pair.agree()


@FEWER
@given(stored=ENTITIES)
def test_repr(stored: Stored) -> None:
    """The text is the same, and showing a model does not change it."""
    pair = pair_of(stored)
    pair.both(repr)
    pair.agree()
    pair.both(repr)


@FEWER
@given(stored=ENTITIES, read=st.booleans())
def test_equality(stored: Stored, read: bool) -> None:
    """It is equal to the same objects as the stock model, on both sides of ``==``."""
    stock = pair_of(stored).stock
    expected = seen(lambda: stock == stock_model(stored.raw))

    def lazy() -> Any:
        entity = lazy_model(stored.raw)
        if read:
            outcome(entity.to_dict)
        return entity

    for left, right in [
        (lazy(), lazy()),
        (lazy(), stock_model(stored.raw)),
        (stock_model(stored.raw), lazy()),
    ]:
        with patched():
            assert seen(partial(operator.eq, left, right)) == expected


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_values(stored: Stored, data: st.DataObject) -> None:
    """``_values`` equals stock's dict, with any operation first."""
    pair = pair_of(stored)
    name = data.draw(st.sampled_from([*stored.shape.stored_names, "absent"]))
    operations: list[Callable[[dict[str, Any]], Any]] = [
        len,
        sorted,
        dict,
        copy.copy,
        copy.deepcopy,
        lambda values: name in values,
        lambda values: values.get(name),
        lambda values: values[name],
        lambda values: {**values},
        lambda values: dict(values.items()),
        lambda values: dict(zip(values, values.values(), strict=True)),
        lambda values: values | {"absent": 1},
        lambda values: {"absent": 1} | values,
        lambda values: pickle.loads(pickle.dumps(values)),
        lambda values: dict([], **values) if all(map(str.isidentifier, values)) else None,
        lambda values: sorted(values.keys() & {name}),
        lambda values: len(list(reversed(values))),
        lambda values: values == copy.copy(values),
        lambda values: [list(map(id, values.values())) == list(map(id, values.values()))],
        lambda values: (values.setdefault(name, 1), values.pop(name, 2), values.pop(name, 3)),
    ]
    for operation in data.draw(st.permutations(operations)):
        pair.both(partial(on_values, operation))
    pair.agree()


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES.keys())
@FEW
@given(stored=ENTITIES, data=st.data())
def test_copies(duplicate: Callable[[Any], Any], stored: Stored, data: st.DataObject) -> None:
    """Copies are stock's, and are as independent of the original as stock's are."""
    pair = pair_of(stored)
    for name in data.draw(st.lists(st.sampled_from(stored.shape.names), max_size=2)):
        pair.both(reading(name))
    copies = pair.twins(duplicate)
    if copies is None:
        return
    first = data.draw(st.sampled_from([pair, copies]))
    for name in stored.shape.names[:2]:
        value = data.draw(stored.shape.values.get(name, st.none()))
        first.both(assigning(name, value))
    pair.agree()
    copies.agree()


@FEW
@given(stored=ENTITIES)
def test_pickles_need_nothing_of_ours(stored: Stored) -> None:
    """Pickles can be loaded without lazyentity."""
    pair = pair_of(stored)
    with patched():
        dumped = outcome(pickle.dumps, pair.lazy, 2)
    if not isinstance(dumped, Raised):
        names = [argument for _, argument, _ in pickletools.genops(dumped)]
        assert not any("lazyentity" in name for name in names if isinstance(name, str))


@FEWER
@given(stored=ENTITIES)
def test_structure(stored: Stored) -> None:
    """Which properties there are, which have values, and the key."""
    pair = pair_of(stored)
    pair.both(lambda entity: sorted(entity._properties))
    pair.both(lambda entity: sorted(vars(entity)))
    pair.both(lambda entity: (entity.key, entity._has_complete_key(), entity._projection))
    for prop in list(pair.stock._properties):
        pair.both(partial(state_of, prop))
    pair.agree()


@FEWER
@given(stored=ENTITIES)
def test_conversion_back(stored: Stored) -> None:
    """The entity that a model becomes is the same, read or not."""
    pair = pair_of(stored)
    pair.both(model._entity_to_ds_entity)
    pair.both(lambda entity: model._entity_to_ds_entity(entity, set_key=False))
    pair.agree()


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_what_put_sends(stored: Stored, data: st.DataObject) -> None:
    """It is the same after reads, assignments and deletions."""
    pair = pair_of(stored)
    for name in data.draw(st.lists(st.sampled_from(stored.shape.names), max_size=3)):
        match data.draw(st.sampled_from(["read", "assign", "delete"])):
            case "read":
                pair.both(reading(name))
            case "assign":
                value = data.draw(stored.shape.values.get(name, st.none()))
                pair.both(assigning(name, value))
            case _:
                pair.both(deleting(name))
    pair.both(written)
    pair.agree()
    pair.both(written)


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_populate(stored: Stored, data: st.DataObject) -> None:
    pair = pair_of(stored)
    names = data.draw(st.sets(st.sampled_from(stored.shape.names)))
    values = {name: data.draw(stored.shape.values.get(name, st.none())) for name in sorted(names)}
    pair.both(lambda entity: entity.populate(**copy.deepcopy(values)))
    pair.agree()


@FEWER
@given(stored=stored_entities())
def test_stored_entities_are_read_lazily(stored: Stored) -> None:
    """No value is made before it is read."""
    lazy = lazy_model(stored.raw)
    if is_lazy(lazy):
        assert lazy._values._undecoded() == list(lazy._values)
    else:
        assert any("." in name for name in names_in(stored.raw))


@FEW
@given(stored=ENTITIES)
def test_threads(stored: Stored) -> None:
    """Many threads that read the same model, each in its order, find equal values."""
    stock = pair_of(stored).stock
    names = [name for name in stored.shape.names if name in stored.shape.values]
    expected = {name: seen(partial(getattr, stock, name)) for name in names}
    lazy = lazy_model(stored.raw)

    def read(number: int) -> Any:
        turn = number % (len(names) or 1)
        with CLIENT.context():
            return {name: outcome(getattr, lazy, name) for name in names[turn:] + names[:turn]}

    with patched():
        with switching_often():
            results = together(4, read)
        for result in results:
            assert {
                name: without_class(value)
                if isinstance(value, Raised)
                else seen(itertools.repeat(value).__next__)
                for name, value in result.items()
            } == expected
