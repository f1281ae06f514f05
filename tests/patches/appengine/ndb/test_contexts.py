"""Which services a context uses for a model: what stock ndb says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, model
from hypothesis import given
from hypothesis import strategies as st

from tests.patches.appengine.services import lazily
from tests.support.snapshots import outcome

SERVICES = "cache", "datastore", "memcache"
FLAGS = st.sampled_from([None, True, False])


class Chosen(ndb.Model):
    """A model whose class chooses, in the attributes that the tests set."""


class OtherKey(ndb.Key):
    """A key of an application's own class."""

    def kind(self) -> str:
        return "Chosen"


KEYS: dict[str, Callable[[], Any]] = {
    "model": lambda: ndb.Key(Chosen, 1),
    "child": lambda: ndb.Key("Unknown", 1, Chosen, "x"),
    "kind without a model": lambda: ndb.Key("Unknown", 1),
    "subclass": lambda: OtherKey("Unknown", 1),
    "none": lambda: None,
}
POLICIES: dict[str, Any] = {
    "default": None,
    "yes": True,
    "no": False,
    "function": lambda key: key is not None and key.id() == 1,
    "failing": lambda _: [][0],
}


def _options(flag: Any, service: str, kind: str) -> Any:
    options: dict[str, Callable[[], Any]] = {
        "none": lambda: None,
        "options": lambda: context.ContextOptions(**{f"use_{service}": flag}),
        "transaction": lambda: context.TransactionOptions(**{f"use_{service}": flag}),
        "others": lambda: context.ContextOptions(max_memcache_items=3),
        "foreign": lambda: {"use_cache": True},
    }
    return options[kind]()


@given(
    service=st.sampled_from(SERVICES),
    key=st.sampled_from(sorted(KEYS)),
    policy=st.sampled_from(sorted(POLICIES)),
    of_class=FLAGS | st.sampled_from([1, lambda key: None, lambda key: key.id() == 1]),
    configured=FLAGS,
    options=st.sampled_from(["none", "options", "transaction", "others", "foreign"]),
    flag=FLAGS,
)
def test_services(
    service: str, key: str, policy: str, of_class: Any, configured: Any, options: str, flag: Any
) -> None:
    """The options of the call decide, then the policy, then those of the connection."""
    config = context.ContextOptions(**{f"use_{service}": configured})
    ctx: Any = context.Context(model.make_connection(config))
    set_policy: Any = getattr(ctx, f"set_{service}_policy")
    set_policy(POLICIES[policy])
    asked = KEYS[key](), _options(flag, service, options)

    def answer() -> Any:
        use: Any = getattr(ctx, f"_use_{service}")
        return outcome(lambda: use(*asked))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chosen, f"_use_{service}", of_class, raising=False)
        expected = answer()
        with lazily():
            assert answer() == expected


@pytest.mark.parametrize("service", SERVICES)
def test_a_policy_of_the_application(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default policy that was replaced before the patch is asked."""
    policy = staticmethod(lambda key: False)
    monkeypatch.setattr(context.Context, f"_{service}_policy", policy)
    ctx = context.Context(model.make_connection())
    with lazily():
        assert getattr(ctx, f"_use_{service}")(ndb.Key(Chosen, 1)) is False
