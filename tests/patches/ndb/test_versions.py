"""ndb in a version that is not supported, or not installed, is left alone."""

from __future__ import annotations

from typing import Any

import pytest

_OF_VERSION = """
import importlib.metadata, wrapt
import lazyentity
installed = importlib.metadata.version
importlib.metadata.version = lambda name: VERSION if "ndb" in name else installed(name)
wrapt.register_post_import_hook(
    lambda module: setattr(module, "__version__", VERSION), "google.cloud.ndb.version"
)
"""


@pytest.mark.parametrize("version", ["2.2.2", "2.8.0rc1"])
class TestUnsupportedVersion:
    """A google-cloud-ndb outside the declared range is left as it is."""

    @staticmethod
    def _of(version: str) -> str:
        return _OF_VERSION.replace("VERSION", repr(version))

    @pytest.mark.parametrize("is_first", [True, False])
    def test_is_one_warning(self, ask: Any, version: str, *, is_first: bool) -> None:
        """However often it is patched, before it is imported and after."""
        state = ask(
            self._of(version)
            + ("" if is_first else "from google.cloud import ndb\nbefore = standing()\n")
            + """
def act():
    for _ in range(3):
        lazyentity.patch("ndb")
    lazyentity.patch()
    from google.cloud import ndb
    lazyentity.patch("ndb")
    lazyentity.patch()
warned = caught(act)
kept = [name for name in lazyentity.patched() if name in ("datastore", "ndb")]
lazyentity.unpatch("datastore")
say(caught=warned, kept=kept, lazy=is_lazy())
"""
        )
        ((category, text, _),) = state["caught"]
        assert category == "RuntimeWarning"
        assert f"google-cloud-ndb {version} is not supported" in text
        assert not state["lazy"]
        assert state["kept"] == ["datastore"]
        assert state["patched"] == []

    def test_raises_when_strict(self, ask: Any, version: str) -> None:
        state = ask(
            self._of(version)
            + """
warnings.simplefilter("ignore")
texts = []
for names, strict in (((), True), (("ndb",), False), (("ndb",), True)):
    try:
        lazyentity.patch(*names, strict=strict)
    except RuntimeError as error:
        texts.append(str(error))
lazyentity.unpatch("datastore")
say(texts=texts, lazy=is_lazy())
"""
        )
        assert len(state["texts"]) == 2
        for text in state["texts"]:
            assert f"google-cloud-ndb {version} is not supported" in text
        assert not state["lazy"]


@pytest.mark.parametrize("version", ["2.3.0", "2.7.0", "2.7.99"])
def test_supported_versions_are_patched(ask: Any, version: str) -> None:
    state = ask(
        _OF_VERSION.replace("VERSION", repr(version))
        + 'warned = caught(lambda: lazyentity.patch("ndb", strict=True))\n'
        "say(warned=warned, lazy=is_lazy())"
    )
    assert state == {"warned": [], "lazy": True, "patched": ["ndb"]}


_MISSING = """
import importlib.abc
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "google.cloud.ndb" or name.startswith("google.cloud.ndb."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import lazyentity
"""


class TestNotInstalled:
    def test_is_no_news_to_who_asks_for_all(self, ask: Any) -> None:
        state = ask(
            _MISSING
            + """
warned = caught(lazyentity.patch)
lazyentity.patch(strict=True)
say(warned=warned, imported=is_imported())
"""
        )
        assert state == {"warned": [], "imported": False, "patched": ["datastore"]}

    def test_auto(self, ask: Any) -> None:
        state = ask(_MISSING + "import lazyentity.auto\nsay()")
        assert state == {"patched": ["datastore"]}

    def test_is_one_warning_to_who_names_it(self, ask: Any) -> None:
        state = ask(
            _MISSING
            + """
def act():
    for _ in range(3):
        lazyentity.patch("ndb")
    lazyentity.patch("ndb", "datastore")
say(warned=caught(act))
"""
        )
        ((category, text, filename),) = state["warned"]
        assert category == "RuntimeWarning"
        assert "google-cloud-ndb is not installed" in text
        assert filename == "<string>"
        assert state["patched"] == ["datastore"]

    def test_raises_when_strict_and_named(self, ask: Any) -> None:
        state = ask(
            _MISSING
            + """
texts = []
try:
    lazyentity.patch("ndb", strict=True)
except RuntimeError as error:
    texts.append(str(error))
say(texts=texts)
"""
        )
        assert "google-cloud-ndb is not installed" in state["texts"][0]
        assert state["patched"] == []

    def test_unpatching_works_all_the_same(self, ask: Any) -> None:
        state = ask(_MISSING + 'lazyentity.unpatch()\nlazyentity.unpatch("ndb")\nsay()')
        assert state == {"patched": []}
