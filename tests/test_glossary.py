"""Words that ``docs/internals/glossary.rst`` replaced do not come back, in names or in prose."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("lazyentity", "patches", "bench", "tools", "docs")
SUFFIXES = (".py", ".pyi", ".pyx", ".pxd", ".rst")

GLOSSARY = {
    "callsites": r"profiling[. ](?:import .*)?\bsites\b",
    "CallSite": r"\bSite\b",
    "counters": r"\b[Tt]allies\b",
    "EntityCounter": r"\b(?:Any)?Tally\b|\btally\b",
    "ProfileData": r"\bBook\b|\bbook\b",
    "CallSiteCounts": r"[Ii]nflow|INFLOW",
    "EntityCounts": r"\b_?[Aa]rrival\b|ARRIVAL|_arrivals?\b",
    "ResponseCounter": r"[Ii]ntake",
    "property_layout": r"\b(codec|native|ndb)[./]forms\b|\bform_of\b|\bwrite_form\b",
    "_dispatch": r"\b_kinds\.py|lazyentity\._kinds",
    "LazyValueDict": r"MadeDict|madedict",
    "AttributePath": r"patches.*\bPlace\b|\bPlace\(",
    "ClientSpec": r"lazyentity\.patches\.client\b|(?<!adapters/)\bpatches/client\.py",
    "WireDict": r"\bReceived\b(?!, by)|\bnative[./]received\b|\bpure[./]received\b",
    "ParseSlot": r"class Split\b|\bempty_split\b",
    "UnboxedEntity": r"\bto_row\b|lazyentity\._rows\b|\b_rows\.py|cdef class Row\b",
    "ViewAs": r"Retyped",
    "EncodableEntity": r"codec[./]contents\b|: Contents\b",
    "EntityExtras": r"cdef class Originals|\boriginals_of\b",
    "EntityFinder": r"\bheld_by\b|(lazyentity|pure|native)[./]decoding\b|\bWalk\b",
    "ParsedEntityMessage": r"Opened(Entity|Message|Handle)",
    "defers_to_foreign": r"\byields=|\b_yields\b",
    "EntityReader": r"\b(Delivery|to_stock_entity|for_eager_rpc|EagerTransport)\b",
    "is_upstream": r"\b(reads_by_own|is_method_of|are_those_of)\b|\.stands\(",
}
"""The patterns of the old words, by the words in place of them."""


@functools.cache
def _texts(room: str) -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in (ROOT / room).rglob("*")
        if path.suffix in SUFFIXES
    }


@pytest.mark.parametrize(("word", "old"), GLOSSARY.items())
def test_replaced_words_do_not_come_back(word: str, old: str) -> None:
    """A line that has one is named; the word in its place is the parameter."""
    pattern = re.compile(old)
    assert [
        f"{path}:{number}: {line}"
        for room in ROOMS
        for path, text in _texts(room).items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ] == []


@pytest.mark.parametrize("word", GLOSSARY)
def test_the_glossary_defines_each_word(word: str) -> None:
    glossary = (ROOT / "docs" / "internals" / "glossary.rst").read_text(encoding="utf-8")
    assert re.search(rf"^``{word}``\n    \S", glossary, re.MULTILINE)


_STRING = re.compile(r'(""")|"(?:[^"\\\n]|\\.)*"')
_LINE_BREAK = re.compile(r"\n\s*(?:#:?|\*)?\s*")
_PHRASE = re.compile(
    r"\b(?:of one(?! row| property after)|those of|of (?:its|their|one's) own)\b", re.IGNORECASE
)


def _prose(path: str, text: str) -> str:
    """Return a page, or a module without the strings that are no docstrings, in one line."""
    return _LINE_BREAK.sub(" ", text if path.endswith(".rst") else _STRING.sub(r"\1", text))


@pytest.mark.parametrize("room", [*ROOMS, "tests"])
def test_prose_says_what_a_thing_is_and_not_whose(room: str) -> None:
    """Each phrase makes a reader look for the noun that it stands for."""
    texts = _texts(room).items()
    found = {path: _PHRASE.findall(_prose(path, text)) for path, text in texts}
    assert {path: phrases for path, phrases in found.items() if phrases} == {}
