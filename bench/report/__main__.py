"""The command line that puts the tables of a run into a page of the documentation.

``python -m lazyentity.bench.report RESULTS.json`` prints the section, ``--update PAGE.rst`` puts it
between the two marker comments of that file, and ``--check PAGE.rst`` fails if the section there
differs. ``--section NAME`` names the markers, so that a file can hold sections from several
results files: ``.. NAME-start`` and ``.. NAME-end``. ``--compact`` leaves out tables.
"""

from __future__ import annotations

from pathlib import Path

import click

from lazyentity.bench.harness import files, results
from lazyentity.bench.report.readme import (
    SECTION,
    MarkersMissing,
    NothingToShow,
    put_between_markers,
    render,
)


@click.command()
@click.argument("results_file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--update",
    type=click.Path(path_type=Path, dir_okay=False, exists=True, writable=True),
    help="Put the section between the markers of this file.",
)
@click.option(
    "--check",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Fail if the section between the markers of this file differs.",
)
@click.option(
    "--section",
    default=SECTION,
    show_default=True,
    metavar="NAME",
    help="The markers are the comments NAME-start and NAME-end.",
)
@click.option(
    "--compact",
    is_flag=True,
    help="Fewer mixes and tables, for a section below a full one.",
)
def main(
    results_file: Path, update: Path | None, check: Path | None, section: str, compact: bool
) -> None:
    """Render the benchmark section of a page from RESULTS_FILE."""
    if update and check:
        raise click.UsageError("--update and --check exclude each other")
    document = update or check
    try:
        text = render(results.load(results_file), compact)
        if document is None:
            click.echo(text)
            return
        present = document.read_text(encoding="utf-8")
        wanted = put_between_markers(present, section, text)
    except (files.ResultsError, NothingToShow) as error:
        raise click.ClickException(str(error)) from error
    except MarkersMissing as error:
        raise click.ClickException(f"{document}: {error}") from error
    if update:
        update.write_text(wanted, encoding="utf-8")
    elif wanted != present:
        raise click.ClickException(
            f"the section {section} of {check} is not that of {results_file}; python -m "
            f"lazyentity.bench.report {results_file} --section {section}"
            f"{' --compact' if compact else ''} --update {check} puts it right"
        )


if __name__ == "__main__":
    main(prog_name="python -m lazyentity.bench.report")
