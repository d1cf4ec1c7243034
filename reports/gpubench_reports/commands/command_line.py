"""The command line: the parser that knows every command, and what each exit code means.

Modules that cost time to import are imported by the command that needs them.

Exit codes: 0 done; 1 the answer is no, where a command was asked (compare --fail-on, fleet); 2
something is wrong with a file, a folder or the command line (one line says what); 3 an error of
this program; 130 interrupted.
"""

import argparse
from collections.abc import Sequence
from typing import Protocol

from gpubench_reports import __version__
from gpubench_reports.commands import (
    agree,
    calibrate_device,
    claims,
    compare,
    counters,
    csv,
    diagnose,
    fleet,
    gallery,
    goals,
    html,
    import_results,
    job,
    markdown,
    peers,
    published,
    render,
    roofline,
    table,
    timed,
    validate,
)
from gpubench_reports.commands.output import PROGRAM
from gpubench_reports.common.console import run_guarded

_DESCRIPTION = """\
Turns gpubench result files into tables and charts.

A result file comes from
  ./gpubench --benchmark_out=run.json --benchmark_out_format=json
"""

_EPILOG = """\
examples:
  gpubench-report html run.json                    everything in one page: run.html
  gpubench-report table run.json                   every row, in the terminal
  gpubench-report render run.json                  charts into run-charts/
  gpubench-report compare monday.json today.json   what changed by more than noise?
  gpubench-report compare monday.json today.json --fail-on=5%         exit code 1 if rows are slower
  gpubench-report compare a100.json h100.json h200.json --of-roof     which is nearest its roofs?
  gpubench-report markdown run.json monday.json    for a pull request or a job's summary
  gpubench-report csv --all run.json > run.csv     every value of every row
  gpubench-report import --from=nccl-tests log.txt -o old.json        other programs' results
  gpubench-report timed run.json -o timed.json     for Google Benchmark's compare.py
  gpubench-report roofline run.json mi300x                         devices in one chart
  gpubench-report validate measured.json           how wrong is the model?
  gpubench-report agree 1.json 2.json 3.json       do repeated runs agree?
  gpubench-report claims run.json                  tests common claims about GPUs
  gpubench-report diagnose run.json                which wall holds up a training step?
  gpubench-report job run.json                     tokens per second and MFU on many GPUs
  gpubench-report counters run.json profile.csv    does the profiler count what the model counts?
  gpubench-report calibrate run.json               writes a device file from measured rows
  gpubench-report goals results/local/validate-... which goals does this GPU meet?
  gpubench-report fleet sweep/ -o fleet.html       which GPUs of many are slow?
  gpubench-report published tests/data/published   compares the model with published data

Data are in SI base units; prefixes (k, M, G, T) are powers of 1000.
Exit code 0: done. 1: rows are slower than --fail-on allows, or fleet found something. 2: a file,
folder or option is wrong; one line says what. 3: an error of this program.
"""


class Command(Protocol):
    """What a module of this folder is to the parser."""

    NAME: str
    SUMMARY: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int | None: ...


# In the order of --help.
COMMANDS: tuple[Command, ...] = (
    render,
    html,
    markdown,
    csv,
    table,
    roofline,
    compare,
    validate,
    agree,
    claims,
    diagnose,
    job,
    counters,
    goals,
    calibrate_device,
    peers,
    fleet,
    import_results,
    timed,
    gallery,
    published,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""

    def call() -> int:
        options = _parser().parse_args(arguments)
        code: int | None = options.run(options)
        return code or 0

    return run_guarded(PROGRAM, call)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = commands.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.HELP,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return parser
