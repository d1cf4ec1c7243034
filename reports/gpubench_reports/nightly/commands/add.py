"""gpubench-nightly add: stores result files as one night."""

import argparse
from pathlib import Path

from gpubench_reports.nightly.commands.arguments import (
    rehearsal_argument,
    store_arguments,
    told_arguments,
)
from gpubench_reports.nightly.commands.shared import conclude, opened, require_told, say

NAME = "add"
SUMMARY = "store result files as one night, and judge it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        metavar="FILE.json",
        help="one per process that measured; a row needs the times of several",
    )
    parser.add_argument("--machine", metavar="NAME", help="default: the files' host and device")
    told_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.nights.adding import add, reservations
    from gpubench_reports.results.companions import with_companions

    require_told(options, with_companions(options.results))
    store, index, settings = opened(options, create=True)
    aside = set(store.quarantined())
    with index:
        with store.adding():
            index.update(settings)
            # Before: what is stored is judged, whatever becomes of the files.
            said = reservations(options.results)
            night = add(store, index, options.results, settings.machine)
        for sentence in said:
            say(sentence)
        return conclude(options, store, index, settings, night.machine, aside)
