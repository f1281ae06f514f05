"""What a model of ndb is to its user, under the patch and in stock, whichever library it is of."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import assume, given, strategies as st

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from tests.patches.models.pairs import FEW, FEWER, ModelPair, is_lazy, undecoded
from tests.patches.models.shapes import Stored
from tests.support import hostile
from tests.support.concurrency import switching_often, together
from tests.support.snapshots import Raised, outcome

STORED: Any = st.runner().flatmap(lambda cases: cases.stored)
"""Entities that the library has stored."""
CHANGED: Any = st.runner().flatmap(lambda cases: cases.changed)
"""Entities that another program has changed."""
ENTITIES = st.one_of(STORED, CHANGED)


ON_ENTITIES: list[Callable[[Any], Any]] = [
    lazyentity.raw,
    lazyentity.decoded,
    lazyentity.materialize,
    lazyentity.prefetch,
    lazyentity.to_dict,
    lambda entity: lazyentity.detach([entity]),
    lazyentity.wrap,
]
"""Functions that take entities of google-cloud-datastore."""


class Cases:
    """The tests of every library of models; a subclass names one."""

    pair: ClassVar[type[ModelPair]]
    """The two models of an entity."""
    stored: ClassVar[st.SearchStrategy[Stored]]
    changed: ClassVar[st.SearchStrategy[Stored]]

    @FEW
    @given(stored=ENTITIES)
    def test_pickles_need_nothing_of_ours(self, stored: Stored) -> None:
        """Pickles can be loaded without lazyentity."""
        pair = self.pair.assumed(stored.raw)
        with self.pair.patched():
            dumped = outcome(pickle.dumps, pair.lazy, 2)
        if not isinstance(dumped, Raised):
            names = [argument for _, argument, _ in pickletools.genops(dumped)]
            assert not any("lazyentity" in name for name in names if isinstance(name, str))


class ModelCases(Cases):
    """The tests of both libraries named ndb; a subclass names one."""

    @FEW
    @given(stored=STORED)
    def test_functions_on_entities_refuse_models(self, stored: Stored) -> None:
        """And leave them unread."""
        made = self.pair.assumed(stored.raw).lazy
        before = undecoded(made)
        for function in ON_ENTITIES:
            with pytest.raises(TypeError, match=type(made).__name__):
                function(made)
        assert undecoded(made) == before

    @FEW
    @given(stored=STORED)
    def test_names_that_are_none(self, stored: Stored) -> None:
        """Code that bypasses the methods can put the sentinel under any name."""
        made = self.pair.assumed(stored.raw).lazy
        assume(is_lazy(made))
        for name in (5, b"\xff", "nowhere", hostile.Name("none"), hostile.Unprintable()):
            dict.__setitem__(made._values, name, UNDECODED)
            message = "is, or holds, an undecoded property"
            with self.pair.patched(), pytest.raises(TypeError, match=message):
                made._values[name]

    @FEW
    @given(stored=ENTITIES)
    def test_threads(self, stored: Stored) -> None:
        """Many threads that read the same model, each in its order, find equal values."""
        stock = self.pair.assumed(stored.raw).stock
        names = [name for name in stored.shape.names if name in stored.shape.values]
        expected = {name: self.pair.seen(partial(getattr, stock, name)) for name in names}
        lazy = self.pair.lazy_model(stored.raw)

        def read(number: int) -> Any:
            turn = number % (len(names) or 1)
            return {
                name: self.pair.seen_in_thread(partial(getattr, lazy, name))
                for name in names[turn:] + names[:turn]
            }

        with self.pair.patched(), switching_often():
            assert together(4, read) == [expected] * 4

    @FEWER
    @given(stored=STORED)
    def test_stored_entities_are_read_lazily(self, stored: Stored) -> None:
        """No value is made before it is read."""
        lazy = self.pair.lazy_model(stored.raw)
        if is_lazy(lazy):
            assert lazy._values._undecoded() == list(lazy._values)
        else:
            assert self.is_made_at_once(stored)

    @staticmethod
    def is_made_at_once(_stored: Stored) -> bool:
        """Say whether the library itself makes models of such an entity under the patch."""
        return False
