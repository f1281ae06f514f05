"""Generated documents with containers that change while they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.support.changing import acting

_MOST_TURNS = 4
_names = st.sampled_from("abcdef")
_forms: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.just("act"), st.integers(0, 9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_names, inner, max_size=3)
    ),
    max_leaves=10,
)
_numbers = st.integers(0, 9)


class Change(NamedTuple):
    """A change of one of the containers of a document."""

    container: int
    kind: int
    at: int

    def apply(self, containers: Sequence[Any]) -> None:
        """Change a container, if it can be changed so."""
        changed = containers[self.container % len(containers)]
        if isinstance(changed, list):
            at = self.at % (len(changed) + 1)
            if self.kind == 0:
                changed.insert(at, 100 + self.at)
            elif self.kind == 1:
                del changed[at:]
            elif changed:
                changed[at % len(changed)] = ["new", {"in": self.at}]
            return
        name = "abcdef"[self.at % 6]
        if self.kind == 0:
            changed[name] = 100 + self.at
        elif self.kind == 1:
            changed.pop(name, None)
        else:
            changed[f"new {name}"] = {"in": [self.at]}


class Case(NamedTuple):
    """A document, and the changes made each time that a datetime in it is encoded."""

    form: dict[str, Any]
    changes: list[Change]

    def document(self) -> dict[str, Any]:
        """Make the document anew; it changes at most a few times."""
        containers: list[Any] = []
        turns: list[None] = []

        def act() -> None:
            if len(turns) < _MOST_TURNS:
                turns.append(None)
                for change in self.changes:
                    change.apply(containers)

        made: dict[str, Any] = _made(self.form, containers, act)
        return made


def _made(form: Any, containers: list[Any], act: Callable[[], None]) -> Any:
    if isinstance(form, (list, dict)):
        made: Any = type(form)()
        containers.append(made)
        if isinstance(form, list):
            made += [_made(each, containers, act) for each in form]
        else:
            made |= {name: _made(each, containers, act) for name, each in form.items()}
        return made
    return acting(act) if form == "act" else form


CASES = st.builds(
    Case,
    st.dictionaries(_names, _forms, min_size=1, max_size=5),
    st.lists(st.builds(Change, _numbers, st.integers(0, 2), _numbers), min_size=1, max_size=4),
)
