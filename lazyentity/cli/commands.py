"""The commands of ``python -m lazyentity``. A new one is a line in :data:`COMMANDS`."""

from __future__ import annotations

from typing import Final, NamedTuple


class Command(NamedTuple):
    """A command, whose module is imported when it is run.

    Attributes:
        module: has a callable ``main``, which takes the list of arguments and the name of the
            program, and returns the exit status; a click command is one.
        summary: one line of the help.
        extra: the extra of the distribution that installs what the module imports beyond the
            requirements of lazyentity; the empty string if there is none.
    """

    module: str
    summary: str
    extra: str = ""


COMMANDS: Final = {
    "bench": Command("lazyentity.bench.cli", "measure it, on your own entities too", "bench"),
    "demo": Command("lazyentity.bench.demo", "show the effect on three lines of code", "bench"),
    "doctor": Command("lazyentity.cli.doctor.command", "say what works here, and what does not"),
    "run": Command("lazyentity.cli.run", "run a program that is patched before it starts"),
    "server": Command("lazyentity.bench.server.command", "run a Datastore server here", "bench"),
    "snapshot": Command("lazyentity.snapshot.command", "keep a kind in a file", "snapshot"),
}
