"""Replacing and restoring: all or nothing, by identity, and never what somebody else put there."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.cloud import datastore
from google.cloud.datastore import batch as batch_module
from google.cloud.datastore import client as client_module
from google.cloud.datastore import helpers
from google.cloud.datastore import query as query_module
from google.cloud.datastore_v1.types import entity as entity_pb2

import lazyentity
from lazyentity.patches.registry import Patch, Seam
from tests.describing import describe
from tests.patching.order_program import read
from tests.patching.seams import ORIGINALS, standing

SEAMS = [
    (helpers, "entity_from_protobuf"),
    (client_module.Client, "_datastore_api"),
    (query_module.Iterator, "_next_page"),
    (datastore.Key, "to_protobuf"),
    (datastore.Key, "is_partial"),
    (helpers, "entity_to_protobuf"),
    (batch_module, "_assign_entity_to_pb"),
    (batch_module.Batch, "_add_partial_key_entity_pb"),
    (batch_module.Batch, "_add_complete_key_entity_pb"),
    (batch_module.Batch, "_add_delete_key_pb"),
]
BY_NAME = [name for _, name in SEAMS]

Client = datastore.Client


def test_patching_replaces_these_and_nothing_else() -> None:
    """Of all that a read or a write goes through, ten attributes are replaced."""
    lazyentity.patch("datastore")
    now = standing()
    assert now.keys() == ORIGINALS.keys()
    assert sorted(place for place in now if now[place] != ORIGINALS[place]) == [
        ("Batch", "_add_complete_key_entity_pb"),
        ("Batch", "_add_delete_key_pb"),
        ("Batch", "_add_partial_key_entity_pb"),
        ("Client", "_datastore_api"),
        ("Iterator", "_next_page"),
        ("Key", "is_partial"),
        ("Key", "to_protobuf"),
        ("google.cloud.datastore.batch", "_assign_entity_to_pb"),
        ("google.cloud.datastore.helpers", "entity_from_protobuf"),
        ("google.cloud.datastore.helpers", "entity_to_protobuf"),
    ]


def test_patching_twice_is_patching_once() -> None:
    """A second patch() changes nothing, so one unpatch() undoes both."""
    lazyentity.patch()
    once = standing()
    lazyentity.patch()
    lazyentity.patch("datastore", strict=True)
    assert standing() == once
    lazyentity.unpatch()
    assert standing() == ORIGINALS


def test_unpatching_what_is_not_patched_does_nothing() -> None:
    lazyentity.unpatch()
    lazyentity.unpatch("datastore")
    assert standing() == ORIGINALS


@pytest.mark.parametrize(
    "names", [("nosuch",), ("datastore", "nosuch"), ("",), ("Datastore",)], ids=repr
)
@pytest.mark.parametrize("function", [lazyentity.patch, lazyentity.unpatch])
def test_unknown_names_are_refused(function: Callable[..., None], names: tuple[str, ...]) -> None:
    """A name that is not known is a ValueError that lists those that are; nothing is changed."""
    with pytest.raises(ValueError, match=r"unknown client '.*'; known are .*'datastore'"):
        function(*names)
    assert standing() == ORIGINALS
    lazyentity.patch()
    with pytest.raises(ValueError, match="unknown client"):
        lazyentity.unpatch(*names)
    assert "datastore" in lazyentity.patched()


@pytest.mark.parametrize(("holder", "name"), SEAMS, ids=BY_NAME)
class TestMissingTarget:
    """A client that lacks one of the attributes to replace is not patched at all."""

    def test_is_one_warning(self, holder: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lazyentity.patches._refused", set())
        monkeypatch.delattr(holder, name)
        before = standing()
        with pytest.warns(RuntimeWarning) as caught:
            lazyentity.patch("datastore")
        (warning,) = caught
        # Warnings are errors here: a second one would raise.
        lazyentity.patch("datastore")
        assert "google-cloud-datastore" in str(warning.message)
        assert name in str(warning.message)
        assert standing() == before
        assert lazyentity.patched() == ()

    def test_is_an_error_when_strict(
        self, holder: Any, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(holder, name)
        before = standing()
        with pytest.raises(RuntimeError, match=name):
            lazyentity.patch(strict=True)
        assert standing() == before
        assert lazyentity.patched() == ()


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_while_replacing_is_rolled_back(failing: int) -> None:
    """Whichever replacement fails, the ones made before it are undone, and nothing is active."""

    class Target:
        first = "original first"
        second = "original second"

    before = dict(vars(Target))
    active: list[Callable[[], bool]] = []

    def replace(_original: str, is_active: Callable[[], bool]) -> str:
        if len(active) == failing:
            raise LookupError("cannot be replaced")
        active.append(is_active)
        return "replaced"

    with mock.patch(f"{__name__}.Target", Target, create=True):
        patch = Patch([Seam(__name__, f"Target.{name}", replace) for name in ("first", "second")])
        with pytest.raises(LookupError, match="cannot be replaced"):
            patch.apply()
    assert dict(vars(Target)) == before
    assert not patch.active
    assert len(active) == failing
    assert not any(is_active() for is_active in active)


def _functools_wrapper(inner: Callable[[Any], Any], calls: list[Any]) -> Callable[[Any], Any]:
    @functools.wraps(inner)
    def wrapper(pb: Any) -> Any:
        calls.append(pb)
        return inner(pb)

    return wrapper


def _wrapt_wrapper(inner: Callable[[Any], Any], calls: list[Any]) -> Callable[[Any], Any]:
    def wrapper(wrapped: Any, _instance: Any, arguments: Any, keywords: Any) -> Any:
        calls.append(arguments)
        return wrapped(*arguments, **keywords)

    wrapping: Callable[[Any], Any] = wrapt.FunctionWrapper(inner, wrapper)
    return wrapping


def _plain_wrapper(inner: Callable[[Any], Any], calls: list[Any]) -> Callable[[Any], Any]:
    def wrapper(pb: Any) -> Any:
        calls.append(pb)
        return inner(pb)

    return wrapper


Wrapper = Callable[[Callable[[Any], Any], list[Any]], Callable[[Any], Any]]
WRAPPERS = [_functools_wrapper, _wrapt_wrapper, _plain_wrapper]
NAMED = [_functools_wrapper, _wrapt_wrapper]


Put = Callable[[Callable[[Any], Any]], None]


@pytest.fixture
def put_conversion(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Puts something over helpers.entity_from_protobuf; in the end the original is there again."""

    def put(replacement: Callable[[Any], Any]) -> None:
        monkeypatch.setattr(helpers, "entity_from_protobuf", replacement)

    # Replacements are undone down to what was there before the first one: here, the original.
    put(helpers.entity_from_protobuf)
    return put


def _spy(original: Any, calls: list[str], name: str) -> Any:
    if isinstance(original, property):
        return property(_spy(original.fget, calls, name))

    @functools.wraps(original)
    def spy(*arguments: Any) -> Any:
        calls.append(name)
        return original(*arguments)

    return spy


def test_what_was_put_around_keys_and_batches_before_is_called(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As often as by a stock client, and with what it makes of it."""
    calls: list[str] = []
    for holder, name in SEAMS:
        if holder in (datastore.Key, batch_module, batch_module.Batch):
            monkeypatch.setattr(holder, name, _spy(vars(holder)[name], calls, name))

    def write_and_read() -> list[str]:
        calls.clear()
        stored = datastore.Entity(client.key("Spied", 1))
        created = datastore.Entity(client.key("Spied"))
        client.put_multi([stored, created])
        assert client.get(stored.key) is not None
        client.delete_multi([stored.key, created.key])
        return calls.copy()

    by_stock = write_and_read()
    assert len(set(by_stock)) == 6
    lazyentity.patch()
    patched = write_and_read()
    lazyentity.unpatch()
    assert patched == by_stock


def _message_of(pb: Any) -> Any:
    return entity_pb2.Entity.pb(pb) if isinstance(pb, entity_pb2.Entity) else pb


def _redact(pb: Any) -> None:
    message = _message_of(pb)
    message.properties["text"].string_value = "redacted"
    message.properties.pop("number")
    message.ClearField("key")


def _add(pb: Any) -> None:
    _message_of(pb).properties["added"].integer_value = 1


def _add_to_the_message(pb: Any) -> None:
    if isinstance(pb, entity_pb2.Entity):
        pb.properties["added"] = entity_pb2.Value(integer_value=1)
    else:
        pb.properties["added"].integer_value = 1


class TestConversionWrappedAfterUs:
    """Somebody wraps entity_from_protobuf after it was patched, as a tracing library would."""

    @pytest.mark.parametrize("change", [_redact, _add, _add_to_the_message])
    @pytest.mark.parametrize("is_eager", [False, True])
    def test_what_it_changes_in_the_message_is_converted(
        self,
        change: Callable[[Any], None],
        is_eager: bool,
        client: Client,
        put_conversion: Put,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Entities are made of the message as the wrapper hands it on."""
        stored = datastore.Entity(client.key("Changed", 1))
        stored.update({"text": "secret", "number": 1, "inner": datastore.Entity()})
        client.put(stored)
        read_both: tuple[Callable[[], Any], ...] = (
            functools.partial(client.get, stored.key),
            lambda: next(iter(client.query(kind="Changed").fetch())),
        )

        def read_changed() -> list[datastore.Entity]:
            inner: Callable[[Any], Any] = helpers.entity_from_protobuf

            def changing(pb: Any) -> Any:
                # Of embedded entities, only stock's conversion comes through here.
                if _message_of(pb).HasField("key"):
                    change(pb)
                return inner(pb)

            with monkeypatch.context() as over:
                over.setattr(helpers, "entity_from_protobuf", changing)
                return [read() for read in read_both]

        stock = read_changed()
        lazyentity.patch()
        put_conversion(helpers.entity_from_protobuf)
        with lazyentity.eager() if is_eager else contextlib.nullcontext():
            changed = read_changed()
        kind = datastore.Entity if is_eager else lazyentity.LazyEntity
        assert [type(entity) for entity in changed] == [kind] * 2
        assert describe(changed) == describe(stock)

    def test_is_not_called_for_what_is_embedded(self, client: Client, put_conversion: Put) -> None:
        stored = datastore.Entity(client.key("Changed", 2))
        stored["inner"] = datastore.Entity()
        client.put(stored)
        lazyentity.patch()
        calls: list[Any] = []
        put_conversion(_plain_wrapper(helpers.entity_from_protobuf, calls))
        assert client.get(stored.key) == stored
        assert len(calls) == 1

    @pytest.mark.parametrize("wrap", WRAPPERS)
    def test_is_still_called_and_reads_stay_lazy(
        self, wrap: Wrapper, client: Client, stock_contents: Any, put_conversion: Put
    ) -> None:
        lazyentity.patch()
        calls: list[Any] = []
        theirs = wrap(helpers.entity_from_protobuf, calls)
        put_conversion(theirs)
        result = read(client)
        assert result["classes"] == ["LazyEntity"]
        assert result["contents"] == stock_contents
        assert calls

    @pytest.mark.parametrize("wrap", WRAPPERS)
    def test_is_left_in_place_and_ours_becomes_inert(
        self, wrap: Wrapper, client: Client, stock_contents: Any, put_conversion: Put
    ) -> None:
        lazyentity.patch()
        calls: list[Any] = []
        theirs = wrap(helpers.entity_from_protobuf, calls)
        put_conversion(theirs)
        lazyentity.unpatch()

        assert helpers.entity_from_protobuf is theirs
        result = read(client)
        assert result["contents"] == stock_contents
        assert result["classes"] == ["Entity"]
        assert calls

    @pytest.mark.parametrize("wrap", WRAPPERS)
    def test_patching_again_gives_lazy_reads_again(
        self, wrap: Wrapper, client: Client, stock_contents: Any, put_conversion: Put
    ) -> None:
        lazyentity.patch()
        calls: list[Any] = []
        theirs = wrap(helpers.entity_from_protobuf, calls)
        put_conversion(theirs)
        for _ in range(2):
            lazyentity.unpatch()
            assert read(client)["classes"] == ["Entity"]
            lazyentity.patch()
            result = read(client)
            assert result["classes"] == ["LazyEntity"]
            assert result["contents"] == stock_contents
        lazyentity.unpatch()
        assert helpers.entity_from_protobuf is theirs

    @pytest.mark.parametrize("wrap", NAMED)
    def test_patching_again_does_not_wrap_twice(self, wrap: Wrapper, put_conversion: Put) -> None:
        """Ours is found beneath a wrapper that names what it wraps, and not put over it again."""
        lazyentity.patch()
        theirs = wrap(helpers.entity_from_protobuf, [])
        put_conversion(theirs)
        lazyentity.unpatch()
        lazyentity.patch()
        assert helpers.entity_from_protobuf is theirs
        lazyentity.unpatch()


class TestApiWrappedAfterUs:
    """Somebody replaces Client._datastore_api after it was patched, with what calls ours."""

    @staticmethod
    def _wrap(calls: list[Any]) -> property:
        ours = vars(client_module.Client)["_datastore_api"]

        @functools.wraps(ours.fget)
        def getter(client: Any) -> Any:
            calls.append(client)
            return ours.fget(client)

        return property(getter)

    def test_is_left_in_place_and_ours_becomes_inert(
        self, client: Client, stock_contents: Any
    ) -> None:
        lazyentity.patch()
        calls: list[Any] = []
        theirs = self._wrap(calls)
        with mock.patch.object(client_module.Client, "_datastore_api", theirs):
            assert read(client)["classes"] == ["LazyEntity"]
            lazyentity.unpatch()
            assert vars(client_module.Client)["_datastore_api"] is theirs
            result = read(client)
            assert result["classes"] == ["Entity"]
            assert result["contents"] == stock_contents
            assert client._datastore_api is client._datastore_api_internal
            lazyentity.patch()
            assert vars(client_module.Client)["_datastore_api"] is theirs
            assert read(client)["classes"] == ["LazyEntity"]
            lazyentity.unpatch()
            assert calls
        # mock.patch put ours back, which does nothing, until somebody asks to clear it away.
        assert read(client)["classes"] == ["Entity"]
        lazyentity.unpatch()
        assert standing() == ORIGINALS


class TestMockedConversion:
    """mock.patch of helpers.entity_from_protobuf, as the client's own tests do it."""

    def test_on_top_is_what_converts_and_then_gives_way_to_ours(self, client: Client) -> None:
        lazyentity.patch()
        with mock.patch("google.cloud.datastore.helpers.entity_from_protobuf") as conversion:
            assert client.get(client.key("Ordered", 1)) is conversion.return_value
            (message,) = conversion.call_args.args
            assert message.key.path[0].kind == "Ordered"
        assert read(client)["classes"] == ["LazyEntity"]

    def test_on_top_across_unpatching_leaves_ours_inert(
        self, client: Client, stock_contents: Any
    ) -> None:
        lazyentity.patch()
        with mock.patch("google.cloud.datastore.helpers.entity_from_protobuf") as conversion:
            lazyentity.unpatch()
            assert helpers.entity_from_protobuf is conversion
        result = read(client)
        assert result["classes"] == ["Entity"]
        assert result["contents"] == stock_contents
        lazyentity.patch()
        assert read(client)["classes"] == ["LazyEntity"]
        lazyentity.unpatch()
        assert standing() == ORIGINALS

    def test_beneath_takes_ours_away_and_reads_still_give_stock_contents(
        self, client: Client, stock_contents: Any
    ) -> None:
        """When a mock ends that was there before patch(), it puts the stock function over ours."""
        with mock.patch("google.cloud.datastore.helpers.entity_from_protobuf"):
            lazyentity.patch()
        result = read(client)
        assert set(result["classes"]) <= {"Entity", "LazyEntity"}
        assert result["contents"] == stock_contents
        lazyentity.unpatch()
        assert standing() == ORIGINALS
        lazyentity.patch()
        assert read(client)["classes"] == ["LazyEntity"]


def test_patching_warns_of_nothing_here() -> None:
    """No module of the client, of lazyentity or of these tests is reported as patched too late."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lazyentity.patch()
    assert caught == []
