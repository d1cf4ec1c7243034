"""The command line of nightly tracking.

Exit codes: 0 nothing; 1 a regression; 2 could not judge, or something is wrong with a file or the
command line (one line says what); 3 an error of this program; 130 interrupted.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import Protocol

from gpubench_reports.common.console import run_guarded
from gpubench_reports.nightly.commands import (
    accept,
    acknowledge,
    add,
    benchmark,
    bisect,
    calibrate_judge,
    compare,
    export,
    index,
    learn,
    notify,
    query,
    report,
    run,
    status,
)
from gpubench_reports.nightly.commands.shared import PROGRAM

_DESCRIPTION = """\
Tracks a GPU's figures night by night, and tells a regression from noise.

  run              measure a night, store it, judge it, write the report
  learn            measure nights back to back, so that a new store has enough to judge by
  add              store result files that were measured elsewhere as one night, and judge it
  status           what is open now, from the store alone
  notify           tell Slack, Teams or another program what is open now
  accept           take the present level of a series as its new baseline, with a reason
  acknowledge      stay quiet about a known regression until a date
  report           write the trend page
  index            bring the index up to date, or rebuild it from the files
  export           Parquet for a fleet, OpenMetrics or JUnit XML for others' tools
  query            ask the index, or exported Parquet, a prepared question
  compare          the pull-request gate: two programs, interleaved
  bisect           find the commit that made it slower, with the gate as oracle
  calibrate-judge  false alerts per night and how soon changes are found, with this site's noise
  benchmark        time indexing and judging as a store grows
"""

_EPILOG = """\
Exit code 0: nothing open. 1: a regression, or a commit that bisect found. 2: could not judge; a
line says why. 3: an error of this program. 130: interrupted.
"""


class Command(Protocol):
    """What a module of this folder is to the parser."""

    NAME: str
    SUMMARY: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


# The options without a value.
SWITCHES = ("--json", "--rebuild", "--rehearsal", "--webhook-always")

# In the order of --help.
COMMANDS: tuple[Command, ...] = (
    run,
    learn,
    add,
    status,
    notify,
    accept,
    acknowledge,
    report,
    index,
    export,
    query,
    compare,
    bisect,
    calibrate_judge,
    benchmark,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    # A night that is told to stop ends its processes; what it has stays for the next run.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)

    def call() -> int:
        words = sys.argv[1:] if arguments is None else arguments
        options = _parser().parse_args(_command_first(words))
        return int(options.run(options))

    try:
        return run_guarded(PROGRAM, call, line_buffering=True)
    finally:
        signal.signal(signal.SIGTERM, before)  # for who calls this as a function


def _command_first(words: Sequence[str]) -> list[str]:
    """Options may also stand before the command: `--store=DIR status` is `status --store=DIR`."""
    is_value = False
    for at, word in enumerate(words):
        if not word.startswith("-") and not is_value:
            return [word, *words[:at], *words[at + 1 :]]
        # scripts/nightly, which looks for the command too, has the same rule.
        is_value = word.startswith("--") and "=" not in word and word not in SWITCHES
    return list(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # scripts/nightly looks for --program
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = commands.add_parser(
            command.NAME, help=command.SUMMARY, description=command.SUMMARY, allow_abbrev=False
        )
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return parser
