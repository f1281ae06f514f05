"""The client's functions are wrapped or mocked after patch(), or around it."""

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
from google.cloud.datastore import client as client_module
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2

import lazyentity
from lazyentity import patches
from tests.patches.order_program import read
from tests.patches.seams import ORIGINALS, standing
from tests.support.describing import describe

Client = datastore.Client


Convert = Callable[[Any], Any]
Wrapper = Callable[[Convert, list[Any]], Convert]


def _plain_wrapper(inner: Convert, calls: list[Any]) -> Convert:
    def wrapper(pb: Any) -> Any:
        calls.append(pb)
        return inner(pb)

    return wrapper


def _functools_wrapper(inner: Convert, calls: list[Any]) -> Convert:
    return functools.wraps(inner)(_plain_wrapper(inner, calls))


def _wrapt_wrapper(inner: Convert, calls: list[Any]) -> Convert:
    def wrapper(wrapped: Any, _instance: Any, arguments: Any, keywords: Any) -> Any:
        calls.append(arguments)
        return wrapped(*arguments, **keywords)

    wrapping: Convert = wrapt.FunctionWrapper(inner, wrapper)
    return wrapping


WRAPPERS = [_plain_wrapper, _functools_wrapper, _wrapt_wrapper]


Put = Callable[[Convert], None]


@pytest.fixture
def put_conversion(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Replaces helpers.entity_from_protobuf, and restores the original in the end."""

    def put(replacement: Convert) -> None:
        monkeypatch.setattr(helpers, "entity_from_protobuf", replacement)

    # monkeypatch restores the value before the first replacement: here, the original.
    put(helpers.entity_from_protobuf)
    return put


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
        """Entities are made from the message that the wrapper passes on, embedded ones included."""
        stored = datastore.Entity(client.key("Changed", 1))
        stored.update({"text": "secret", "number": 1, "inner": datastore.Entity()})
        client.put(stored)
        read_both: tuple[Callable[[], Any], ...] = (
            functools.partial(client.get, stored.key),
            lambda: next(iter(client.query(kind="Changed").fetch())),
        )

        def read_changed() -> tuple[Any, int]:
            inner: Convert = helpers.entity_from_protobuf
            calls: list[Any] = []

            def changing(pb: Any) -> Any:
                calls.append(pb)
                if _message_of(pb).HasField("key"):
                    change(pb)
                return inner(pb)

            with monkeypatch.context() as over:
                over.setattr(helpers, "entity_from_protobuf", changing)
                found = [read() for read in read_both]
            assert [type(entity) for entity in found] == [datastore.Entity] * 2
            return describe(found), len(calls)

        stock = read_changed()
        lazyentity.patch()
        put_conversion(helpers.entity_from_protobuf)
        with lazyentity.eager() if is_eager else contextlib.nullcontext():
            assert read_changed() == stock

    @pytest.mark.parametrize("wrap", WRAPPERS)
    def test_is_still_called_and_left_in_place(
        self, wrap: Wrapper, client: Client, stock_contents: Any, put_conversion: Put
    ) -> None:
        """Ours beneath it is inert, with the patch and without."""
        lazyentity.patch()
        calls: list[Any] = []
        theirs = wrap(helpers.entity_from_protobuf, calls)
        put_conversion(theirs)
        for change in (None, lazyentity.unpatch, *(lazyentity.patch, lazyentity.unpatch) * 2):
            with warnings.catch_warnings():
                # That ours is beneath a wrapper which does not say so is not seen.
                warnings.filterwarnings("ignore", "lazyentity: .* was replaced by")
                if change is not None:
                    change()
            assert helpers.entity_from_protobuf is theirs
            calls.clear()
            assert read(client) == {"classes": ["Entity"], "contents": stock_contents}
            assert calls


def test_an_api_that_is_wrapped_after_us(client: Client, stock_contents: Any) -> None:
    """A wrapper of ours of Client._datastore_api is left in place, and ours becomes inert."""
    lazyentity.patch()
    calls: list[Any] = []
    ours = vars(client_module.Client)["_datastore_api"]
    theirs = property(_functools_wrapper(ours.fget, calls))
    with mock.patch.object(client_module.Client, "_datastore_api", theirs):
        assert read(client)["classes"] == ["LazyEntity"]
        lazyentity.unpatch()
        assert vars(client_module.Client)["_datastore_api"] is theirs
        assert read(client) == {"classes": ["Entity"], "contents": stock_contents}
        assert client._datastore_api is client._datastore_api_internal
        lazyentity.patch()
        assert vars(client_module.Client)["_datastore_api"] is theirs
        assert read(client)["classes"] == ["LazyEntity"]
        lazyentity.unpatch()
        assert calls
    # mock.patch put ours back. It is inactive, and stays until the next unpatch().
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
        assert read(client) == {"classes": ["Entity"], "contents": stock_contents}
        lazyentity.patch()
        assert read(client)["classes"] == ["LazyEntity"]
        lazyentity.unpatch()
        assert standing() == ORIGINALS

    def test_beneath_takes_ours_away_and_reads_still_give_stock_contents(
        self, client: Client, stock_contents: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When a mock ends that was there before patch(), it puts the stock function over ours."""
        # Each warning is given once, and an earlier mock may have had the same address.
        monkeypatch.setattr(patches, "_told", set())
        with (
            mock.patch("google.cloud.datastore.helpers.entity_from_protobuf"),
            pytest.warns(RuntimeWarning, match="entity_from_protobuf was replaced by <MagicMock"),
        ):
            lazyentity.patch()
        result = read(client)
        assert set(result["classes"]) <= {"Entity", "LazyEntity"}
        assert result["contents"] == stock_contents
        lazyentity.unpatch()
        assert standing() == ORIGINALS
        lazyentity.patch()
        assert read(client)["classes"] == ["LazyEntity"]
