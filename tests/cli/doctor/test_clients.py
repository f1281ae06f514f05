"""The clients: what patch() replaces, and who else replaced something."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import wrapt
from google.cloud.datastore import batch, client, helpers, query, version

import lazyentity
from lazyentity import patches
from lazyentity.cli.doctor import clients, origins
from lazyentity.cli.doctor.findings import Finding
from lazyentity.patches import adapters
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.imports import WhenImported

DATASTORE = CLIENTS["datastore"]
_FIRST = "make `import lazyentity.auto` the first line of the program, or start it with "


@pytest.fixture(autouse=True)
def _no_warning_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each is given once.
    monkeypatch.setattr(patches, "_told", set())


def found(*, is_used: bool = False) -> list[Finding]:
    """The findings about google-cloud-datastore."""
    used = [DATASTORE] if is_used else []
    return [
        one
        for one in clients.findings(clients.may_import(), used)
        if one.subject in ("datastore", "old references")
    ]


def others() -> list[tuple[str, str]]:
    """The levels and texts of all but the first finding."""
    first, *rest = found()
    assert first.level == "ok"
    return [(one.level, one.text) for one in rest]


def described() -> str:
    return f"google-cloud-datastore {version.__version__} (supported: {DATASTORE.supported}): "


def tracing(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


def replacement(*_: Any) -> None:
    """Somebody's function, in place of the client's."""


def test_not_patched() -> None:
    """What patch() would replace is named."""
    (finding,) = found()
    assert finding.level == "ok"
    assert finding.text == described() + f"patch() would replace {len(finding.details)} attributes"
    assert "google.cloud.datastore.helpers:entity_from_protobuf" in finding.details
    modules = {name.partition(":")[0] for name in finding.details}
    counted = f"{len(finding.details)} attributes of {len(modules)} modules"
    assert finding.brief == f"{version.__version__}, patch() would replace {counted}"


def test_patched() -> None:
    lazyentity.patch("datastore")
    (finding,) = found(is_used=True)
    assert finding.text == described() + f"patched, lazy: {len(finding.details)} attributes"
    lazyentity.patch("datastore", eager=True)
    assert "patched, eager" in found()[0].text


def test_an_application_that_did_not_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a problem, unless somebody switched lazyentity off."""
    (finding,) = found(is_used=True)
    assert finding.level == "problem"
    assert finding.text.endswith(": stays stock, because the application did not patch it")
    assert finding.advice == f"{_FIRST}lazyentity-run"
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    assert found(is_used=True)[0].level == "ok"


def test_a_client_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WhenImported, "is_installed", lambda _: False)
    (finding,) = found()
    assert (finding.level, finding.text) == ("ok", "google-cloud-datastore is not installed")
    assert (finding.group, finding.brief) == ("not installed", "google-cloud-datastore")


def test_a_client_that_waits_for_its_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not imported, which would patch it."""
    monkeypatch.setattr(patches, "is_awaited", lambda client: client is DATASTORE)
    monkeypatch.setattr(patches, "patched", lambda: ("datastore",))
    (finding,) = found()
    assert finding.level == "ok"
    assert f"patched on import: {len(finding.details)} attributes" in finding.text


def test_an_unsupported_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "__version__", "1.0")
    (finding,) = found()
    assert finding.level == "problem"
    assert "stays stock: google-cloud-datastore 1.0 is not supported" in finding.text
    assert finding.advice == f"pip install 'google-cloud-datastore{DATASTORE.supported}'"


def test_a_name_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a later version."""
    monkeypatch.delattr(batch, "_assign_entity_to_pb")
    (finding,) = found()
    assert finding.level == "problem"
    assert "cannot be patched" in finding.text
    assert "_assign_entity_to_pb" in finding.text


@pytest.fixture
def tracer() -> Iterator[None]:
    """Wraps a method as tracers do."""
    original = query.Iterator._next_page
    wrapt.wrap_function_wrapper(query, "Iterator._next_page", tracing)
    yield
    vars_of: Any = query.Iterator
    vars_of._next_page = original


_ITERATOR = "google.cloud.datastore.query.Iterator._next_page"


def test_a_tracer_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """No replacement is put around it."""
    place = "google.cloud.datastore.client.Client.get_multi"
    wrapper = wrapt.FunctionWrapper(client.Client.get_multi, tracing)
    monkeypatch.setattr(client.Client, "get_multi", wrapper)
    text = f"{place} was replaced by {__name__}.tracing, which patch() leaves as it is"
    assert others() == [("note", text)]
    lazyentity.patch("datastore")
    assert others() == [("note", text)]
    lazyentity.unpatch()


@pytest.mark.usefixtures("tracer")
def test_a_tracer_before_patch() -> None:
    """It stays, below the replacement."""
    who = f"{__name__}.tracing"
    assert others() == [("note", f"{_ITERATOR} was replaced by {who}, which patch() wraps")]
    lazyentity.patch("datastore")
    text = f"{_ITERATOR} was replaced by {who} before patch(), which wraps it"
    assert others() == [("note", text)]
    lazyentity.unpatch()


def test_a_tracer_after_patch(request: pytest.FixtureRequest) -> None:
    lazyentity.patch("datastore")
    request.getfixturevalue("tracer")
    text = f"{_ITERATOR} is wrapped by {__name__}.tracing, which calls lazyentity"
    assert others() == [("note", text)]


def test_a_mock() -> None:
    """Of the property that gives the API object."""
    name = "google.cloud.datastore.client.Client._datastore_api"
    who = "an instance of unittest.mock.PropertyMock"
    with mock.patch.object(client.Client, "_datastore_api", new_callable=mock.PropertyMock):
        assert others() == [("note", f"{name} was replaced by {who}, which patch() wraps")]
    lazyentity.patch("datastore")
    with mock.patch.object(client.Client, "_datastore_api", new_callable=mock.PropertyMock):
        assert others() == [("problem", f"{name} was replaced after patch() by {who}")]
    assert others() == []


def test_a_class() -> None:
    """It is where it was defined, and a mock is a mock."""
    assert origins.definer(client.Client) == "google.cloud.datastore.client"
    assert origins.who(client.Client) == "google.cloud.datastore.client.Client"
    assert origins.definer(mock.create_autospec(client.Client)) == "unittest.mock"


def test_a_replaced_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before patch(): it stays in charge."""
    monkeypatch.setattr(helpers, "entity_from_protobuf", replacement)
    text = (
        f"google.cloud.datastore.helpers.entity_from_protobuf was replaced by {__name__}."
        "replacement; entities that it makes are not lazy"
    )
    assert others() == [("problem", text)]
    with pytest.warns(RuntimeWarning, match="stays in charge"):
        lazyentity.patch("datastore")
    assert others() == [("problem", text)]


def test_a_wrapped_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a tracer before patch(): its function is named."""
    wrapper = wrapt.FunctionWrapper(helpers.entity_from_protobuf, tracing)
    monkeypatch.setattr(helpers, "entity_from_protobuf", wrapper)
    ((level, text),) = others()
    assert level == "problem"
    assert f"was replaced by {__name__}.tracing; " in text


def test_a_conversion_replaced_after_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    lazyentity.patch("datastore")
    with monkeypatch.context() as patching:
        patching.setattr(helpers, "entity_from_protobuf", replacement)
        ((level, text),) = others()
        assert level == "problem"
        assert f"was replaced by {__name__}.replacement" in text


@pytest.mark.usefixtures("searched_modules")
@pytest.mark.filterwarnings("ignore:lazyentity. patched too late")
def test_old_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that imported the conversion before patch()."""
    module = ModuleType("made_early")
    vars(module)["convert"] = helpers.entity_from_protobuf
    monkeypatch.setitem(sys.modules, "made_early", module)
    text = "made_early imported entity_from_protobuf by name before patch(), and makes stock "
    assert others() == [("note", f"{text}entities with it if patch() is called now")]
    lazyentity.patch("datastore")
    assert others() == [("problem", f"{text}entities with it")]


@pytest.mark.usefixtures("searched_modules")
@pytest.mark.filterwarnings("ignore:lazyentity. patched too late")
def test_old_references_of_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that imported a function of a library with an adapter before patch()."""
    pyarrow = pytest.importorskip("pyarrow")
    # As if nothing had imported a class of lazy entities so far.
    adapters.remove()
    module = ModuleType("made_early")
    # A function of Cython's, which the native backend alone replaces in place.
    vars(module)["array"] = pyarrow.array
    monkeypatch.setitem(sys.modules, "made_early", module)
    lazyentity.patch("datastore")
    text = "modules that imported pyarrow.array by name before patch() see a sentinel for unread "
    said = ("problem", f"{text}properties: made_early") in others()
    assert said == (lazyentity.backend == "pure")
