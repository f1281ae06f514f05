"""The report: all findings, as a screen of text or as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lazyentity._version import __version__
from lazyentity.cli.doctor import backends, clients, variables, versions
from lazyentity.cli.doctor.findings import PROBLEM, Finding

Sections = Mapping[str, Sequence[Finding]]

_MARKS: Final = {"ok": "ok", "note": "note", "problem": "PROBLEM"}
_INDENT = " " * 10


def examine(has_application: bool) -> Sections:
    """Look at this process.

    Args:
        has_application: whether an application was imported in it.

    Returns:
        The findings, by the title of their section.
    """
    # Before the backend, or a client, is imported to look at it.
    may_import = clients.may_import()
    used = clients.imported() if has_application else frozenset()
    return {
        "Versions": list(versions.findings()),
        "Backend": list(backends.findings(may_import)),
        "Clients": list(clients.findings(may_import, used)),
        "Environment": list(variables.findings()),
    }


def problems(sections: Sections) -> int:
    """Return how many findings are problems."""
    return sum(one.level == PROBLEM for found in sections.values() for one in found)


def as_json(sections: Sections, application: str | None) -> str:
    """Return the report as JSON.

    Args:
        sections: the findings.
        application: the module that was imported.
    """
    findings = [
        {
            "section": title,
            "subject": one.subject,
            "level": one.level,
            "text": one.text,
            "advice": one.advice,
            "details": list(one.details),
        }
        for title, found in sections.items()
        for one in found
    ]
    report = {
        "lazyentity": __version__,
        "application": application,
        "ok": problems(sections) == 0,
        "findings": findings,
    }
    return json.dumps(report, indent=2) + "\n"


def as_text(sections: Sections, width: int, *, verbose: bool) -> str:
    """Return the report as text.

    Args:
        sections: the findings.
        width: of the lines, in characters.
        verbose: whether to show all; else a finding that needs no action takes at most a line.
    """
    lines: list[str] = []
    for title, found in sections.items():
        told = found if verbose else _brief(found)
        lines += [title, *(line for one in told for line in _lines(one, width)), ""]
    count = problems(sections)
    each = "its line says" if count == 1 else "their lines say"
    noun = "problem" if count == 1 else "problems"
    end = f"{count} {noun}: {each} what to do." if count else "No problem was found."
    lines.append(end if verbose else f"{end} --verbose tells the names and supported versions.")
    return "\n".join(lines) + "\n"


def _brief(found: Sequence[Finding]) -> Iterator[Finding]:
    """Return the findings of a section for one screen; the findings of a group become one."""
    groups: dict[str, list[Finding]] = {}
    for one in found:
        if one.level == "ok" and one.group:
            groups.setdefault(one.group, []).append(one)
    for one in found:
        if one.level != "ok":
            yield one
        elif not one.group:
            yield Finding(one.subject, one.brief or one.text)
        elif one is groups[one.group][-1]:
            yield Finding(one.group, ", ".join(member.brief for member in groups[one.group]))


def _lines(finding: Finding, width: int) -> Iterator[str]:
    def wrapped(text: str, first: str, others: str) -> list[str]:
        return textwrap.wrap(
            text,
            width,
            initial_indent=first,
            subsequent_indent=others,
            break_long_words=False,
            break_on_hyphens=False,
        )

    mark = f"  {_MARKS[finding.level]:<8}"
    yield from wrapped(f"{finding.subject}: {finding.text}", mark, _INDENT)
    names = ", ".join(map(_short, finding.details))
    yield from wrapped(names, _INDENT + "  ", _INDENT + "  ")
    if finding.advice:
        yield from wrapped(finding.advice, f"{_INDENT}-> ", f"{_INDENT}   ")


def _short(attribute: str) -> str:
    """Return the name of an attribute with the last part of its module."""
    module, _, path = attribute.partition(":")
    return f"{module.rpartition('.')[2]}.{path}"
