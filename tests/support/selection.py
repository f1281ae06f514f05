"""The choice of tests for a pass, where other passes run the rest.

A test can take the implementations of both backends in turn, use the backend that lazyentity chose
for its process, or do the same with either:

- A test of each backend in turn is several tests, and ``--in-turn`` says which of them run.
- A test of the backend chosen depends on the pass. After a pass on the native backend,
  ``--after-native`` runs these on the pure one, and no tests of a native implementation: with the
  modules of the pure backend around it, it is nothing that an application can have. After such a
  pass, ``--after-pure`` runs what it leaves out.
- Tests that are marked ``any_backend`` name the backend that they test, or test none.

A test over the sockets of a loopback server takes servers, transports and ways to patch in turn.
After the first pass, ``--loopback-once`` runs it with one of these, and the next test with the next
ones. On further Pythons, ``--without-loopback`` leaves such tests out.

Where some clients have other versions than before, ``--of-client`` leaves the others out of the
tests of each client in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import pytest

import lazyentity

AFTER_NATIVE, AFTER_PURE = "--after-native", "--after-pure"
IN_TURN = "--in-turn"
LOOPBACK_ONCE, WITHOUT_LOOPBACK = "--loopback-once", "--without-loopback"
OF_CLIENT = "--of-client"

# Parameters whose value is the name of each backend in turn.
_OF_EACH_BACKEND = ("lazy_type", "make", "encoder", "backend")

# Fixtures that start a server.
_SERVERS = frozenset(
    {
        "_many_entities",
        "beam_port",
        "endpoint",
        "loopback",
        "ports",
        "server",
        "small_batches",
        "stored",
    }
)

# Fixtures of each server, each transport and each way to patch.
_OF_EACH_KIND = frozenset({"activation", "endpoint", "names", "stored", "transport"})

_left_out = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        AFTER_NATIVE,
        action="store_true",
        help="run on the pure backend what does not do the same on the native one",
    )
    parser.addoption(
        AFTER_PURE,
        action="store_true",
        help=f"run on the native backend what {AFTER_NATIVE} leaves out",
    )
    parser.addoption(
        IN_TURN,
        choices=("all", "native", "pure", "none"),
        default="all",
        help="run of tests of each backend in turn those of this one (default: all)",
    )
    parser.addoption(
        LOOPBACK_ONCE,
        action="store_true",
        help="run a test over a loopback server once, and not for each transport and way to patch",
    )
    parser.addoption(
        WITHOUT_LOOPBACK,
        action="store_true",
        help="leave out the tests over a loopback server, which another Python runs",
    )
    parser.addoption(
        OF_CLIENT,
        action="append",
        help="run of the tests of each client in turn those of this one; may be given again",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an option where it would leave out what nothing else tests.

    Raises:
        pytest.UsageError: the backend is not the one of the option.
    """
    for option, backend in ((AFTER_NATIVE, "pure"), (AFTER_PURE, "native")):
        if config.getoption(option) and lazyentity.backend != backend:
            raise pytest.UsageError(f"{option} is for LAZYENTITY_BACKEND={backend}")


@pytest.hookimpl(trylast=True)  # after the marks that are not asked for were left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what another pass covers."""
    reasons = {item: reason for item in items if (reason := _reason(item, config)) is not None}
    if config.getoption(LOOPBACK_ONCE):
        repeated = _repeated([item for item in items if item not in reasons])
        reasons |= dict.fromkeys(repeated, "over a loopback server, of another kind")
    if not reasons:
        return
    config.stash[_left_out] = Counter(reasons.values())
    config.hook.pytest_deselected(items=list(reasons))
    items[:] = [item for item in items if item not in reasons]


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say how many tests were left out, and why."""
    left_out = config.stash.get(_left_out, Counter())
    return [f"left out for another pass: {count} {reason}" for reason, count in left_out.items()]


def _reason(item: pytest.Item, config: pytest.Config) -> str | None:
    """Return why a test is left out; None if it is not."""
    in_turn = _in_turn(item)
    chosen = config.getoption(IN_TURN)
    if in_turn is not None and chosen not in ("all", in_turn):
        return f"of the {in_turn} implementation, of each in turn"
    if config.getoption(WITHOUT_LOOPBACK) and _is_over_loopback(item):
        return "over a loopback server"
    client, clients = _client_in_turn(item), config.getoption(OF_CLIENT)
    if client is not None and clients and client not in clients:
        return "of another client, of each in turn"
    either = _either(item, in_turn)
    if config.getoption(AFTER_NATIVE) and either is not None:
        return either
    if config.getoption(AFTER_PURE) and either is None:
        return "that depend on the backend chosen"
    return None


def _repeated(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return all but one of each test over a loopback server that differ only in their kind."""
    tests: dict[Hashable, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and _is_over_loopback(item):
            tests.setdefault(_without_kind(item), []).append(item)
    return [
        item
        for number, kinds in enumerate(tests.values())
        for item in kinds
        if item is not kinds[number % len(kinds)]
    ]


def _without_kind(item: pytest.Function) -> Hashable:
    """Return the test and its parameters, but not the server and the patch."""
    callspec = getattr(item, "callspec", None)
    parameters = {} if callspec is None else callspec.params
    kinds = _OF_EACH_KIND & _fixtures(item)
    # A value of parametrize() is the same object in each of its tests, but need not be hashable.
    own = frozenset((name, id(value)) for name, value in parameters.items() if name not in kinds)
    return item.parent, item.originalname, own


def _is_over_loopback(item: pytest.Item) -> bool:
    return not _SERVERS.isdisjoint(_fixtures(item))


def _fixtures(item: pytest.Item) -> set[str]:
    """Return the names of the fixtures of a test, and of those that these need."""
    if not isinstance(item, pytest.Function):
        return set()
    # pytest counts the parameters of a test among its fixtures.
    marks = item.iter_markers("parametrize")
    given = {name for mark in marks for name in _names(mark.args[0])}
    return set(item.fixturenames) - given


def _names(parameters: str | Sequence[str]) -> Sequence[str]:
    return parameters.replace(",", " ").split() if isinstance(parameters, str) else parameters


def _in_turn(item: pytest.Item) -> str | None:
    """Return the backend of a test of each in turn; None if it is none."""
    callspec = getattr(item, "callspec", None)
    parameters = {} if callspec is None else callspec.params
    for name in _OF_EACH_BACKEND:
        if parameters.get(name) in ("native", "pure"):
            return str(parameters[name])
    return None


def _client_in_turn(item: pytest.Item) -> str | None:
    """Return the client of a test of each in turn; None if it is none."""
    callspec = getattr(item, "callspec", None)
    subject = None if callspec is None else callspec.params.get("subject")
    return None if subject is None else str(subject).partition(".")[0]


def _either(item: pytest.Item, in_turn: str | None) -> str | None:
    """Return why a test does the same with either backend chosen; None if it does not."""
    if item.get_closest_marker("any_backend"):
        return "that do the same with any backend chosen"
    if in_turn == "native":
        return "of a native implementation, which the native backend uses"
    return None
