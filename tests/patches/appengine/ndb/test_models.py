"""A model that is read under the patch is to its user the model that stock ndb makes."""

from __future__ import annotations

import copy
import operator
import pickle
import pickletools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.patches.appengine.ndb.pairs import (
    FEWER,
    Pair,
    assigning,
    deleting,
    is_lazy,
    lazy_model,
    patched,
    reading,
    stock_model,
    written,
)
from tests.patches.appengine.ndb.raw_entities import changed_entities
from tests.patches.appengine.ndb.snapshots import described, snapshot
from tests.patches.appengine.ndb.strategies import Stored, stored_entities
from tests.support.concurrency import switching_often, together
from tests.support.snapshots import Raised, outcome

FEW = settings(max_examples=settings().max_examples // 5, derandomize=True)
ENTITIES = st.one_of(stored_entities(), changed_entities())

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
}


def is_kept(name: str, entity: Any) -> bool:
    """Say whether reading an attribute twice gives one object."""
    return getattr(entity, name) is getattr(entity, name)


def on_values(operation: Callable[[Any], Any], entity: Any) -> Any:
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
def test_to_dict_and_repr(stored: Stored) -> None:
    pair = pair_of(stored)
    pair.both(repr)
    pair.agree()
    pair.both(lambda entity: entity.to_dict())
    pair.both(lambda entity: entity.to_dict(include=stored.shape.names[:2]))
    pair.both(repr)
    pair.agree()


@FEWER
@given(stored=ENTITIES, read=st.booleans())
def test_equality(stored: Stored, read: bool) -> None:
    """It is equal to the same objects as the stock model, on both sides of ``==``."""
    stock = pair_of(stored).stock
    expected = outcome(operator.eq, stock, stock_model(stored.raw))

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
            assert outcome(operator.eq, left, right) == expected


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_values(stored: Stored, data: st.DataObject) -> None:
    """``_values`` equals stock's dict, with any operation first."""
    pair = pair_of(stored)
    names = [name.encode() for name in stored.shape.stored_names]
    name = data.draw(st.sampled_from([*names, b"absent"]))
    operations: list[Callable[[Any], Any]] = [
        len,
        sorted,
        list,
        dict,
        copy.copy,
        lambda values: name in values,
        lambda values: values.get(name),
        lambda values: values[name],
        lambda values: dict(values.items()),
        lambda values: dict(zip(values, values.values(), strict=True)),
        lambda values: values | {b"absent": 1},
        lambda values: {b"absent": 1} | values,
        lambda values: sorted(values.keys() & {name}),
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
        first.both(assigning(name, data.draw(stored.shape.values.get(name, st.none()))))
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
    pair.both(described)
    pair.both(lambda entity: sorted(vars(entity).keys() - {"_subentity_counter"}))
    pair.both(lambda entity: (entity.key, entity._has_complete_key(), entity._projection))
    for prop in list(pair.stock._properties):
        pair.both(partial(state_of, prop))
    pair.agree()


@FEWER
@given(stored=ENTITIES)
def test_what_memcache_gets(stored: Stored) -> None:
    """The entity that a model becomes is the same, read or not, with its key or without."""
    pair = pair_of(stored)
    pair.both(lambda entity: entity._to_pb(set_key=False))
    pair.both(lambda entity: entity._to_pb())
    pair.both(lambda entity: entity._to_pb(allow_partial=True))
    pair.agree()
    pair.both(lambda entity: entity._to_pb(set_key=False))


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
                pair.both(assigning(name, data.draw(stored.shape.values.get(name, st.none()))))
            case _:
                pair.both(deleting(name))
    pair.both(written)
    pair.agree()
    pair.both(written)


@FEWER
@given(stored=stored_entities())
def test_stored_entities_are_read_lazily(stored: Stored) -> None:
    """No value is made before it is read."""
    lazy = lazy_model(stored.raw)
    assert is_lazy(lazy)
    assert lazy._values._undecoded() == list(lazy._values)


@FEW
@given(stored=ENTITIES)
def test_threads(stored: Stored) -> None:
    """Many threads that read the same model, each in its order, find equal values."""
    stock = pair_of(stored).stock
    names = [name for name in stored.shape.names if name in stored.shape.values]
    expected = {name: outcome(lambda name=name: snapshot(getattr(stock, name))) for name in names}
    lazy = lazy_model(stored.raw)

    def read(number: int) -> Any:
        turn = number % (len(names) or 1)
        return {
            name: outcome(lambda name=name: snapshot(getattr(lazy, name)))
            for name in names[turn:] + names[:turn]
        }

    with patched(), switching_often():
        assert together(4, read) == [expected] * 4
