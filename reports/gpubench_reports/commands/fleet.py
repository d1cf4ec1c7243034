"""gpubench-report fleet: which GPUs of many are slow?"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.commands.arguments import json_flag
from gpubench_reports.commands.output import PROGRAM, print_paths
from gpubench_reports.common.dates import day_of
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.extras import load_module

if TYPE_CHECKING:
    from gpubench_reports.fleet.table import Fleet

NAME = "fleet"
SUMMARY = "find the slow GPUs of many"
HELP = """\
Judges each GPU against its peers of the same kind, and names what is slow: firmware, racks, nodes
and GPUs, with rows, size and likely cause. Also names GPUs whose rows failed or are missing, and
those without a result. Data are the result files in a folder (scripts/fleet makes them), or Parquet
in a folder or an object store (--parquet and gpubench-nightly export make it). docs/fleet.md
explains the rule.

Needs SciPy, and DuckDB for Parquet: pip install 'gpubench-reports[fleet]'

exit codes: 0 nothing found; 1 something is slow, failed or missing; 2 nothing could be judged, or a
file, folder or option is wrong; 3 an error of this program
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where", metavar="DIR", nargs="?", help="a folder, or an address such as s3://bucket/lake"
    )
    parser.add_argument(
        "--inventory",
        metavar="FILE.csv",
        type=Path,
        help="where each node is: a CSV file with the columns node, rack, slot and perhaps gpu",
    )
    parser.add_argument(
        "--since", metavar="YYYY-MM-DD", default="", help="of Parquet, leave out earlier nights"
    )
    json_flag(parser)
    parser.add_argument(
        "-o", "--out", metavar="FILE.html", type=Path, help="also write a page with a heat map"
    )
    parser.add_argument(
        "--parquet", metavar="DIR", help="also write the results as Parquet, to keep"
    )
    rehearsal = parser.add_argument_group("rehearsal: how good is the judge? On simulated fleets")
    rehearsal.add_argument(
        "--rehearse", action="store_true", help="simulate fleets, judge them, and count mistakes"
    )
    for flag, default, says in (
        ("--gpus", 10_000, "GPUs per fleet"),
        ("--rows", 60, "rows per GPU, evenly from a modelled run"),
        ("--fleets", 5, "how many fleets are simulated and judged"),
        ("--seed", 1, "of the first fleet's noise; each further fleet takes the next"),
    ):
        rehearsal.add_argument(
            flag, metavar="N", type=int, default=default, help=f"{says} (default: %(default)s)"
        )


def run(options: argparse.Namespace) -> int:
    load_module("scipy", NAME, "fleet")  # before anything is read
    return _rehearse(options) if options.rehearse else _judge(options)


def _judge(options: argparse.Namespace) -> int:
    if options.where is None:
        raise ReportError("fleet", "which folder? Name one, or --rehearse")
    from gpubench_reports.common.files import require_output, write_atomically
    from gpubench_reports.nightly.reporting.parquet import folder_for

    since = _day(options.since)
    kept = None if options.parquet is None else folder_for(options.parquet)
    if options.out is not None:
        require_output(options.out, _inputs(options))
    fleet = _read(options, since)
    from gpubench_reports.fleet.findings import judge_fleet
    from gpubench_reports.fleet.summary import as_json, exit_code, text

    verdict = judge_fleet(fleet)
    print(as_json(verdict) if options.json else text(verdict))
    if options.out is not None:
        from gpubench_reports.fleet.page import build

        write_atomically(options.out, build(verdict))
        if not options.json:
            print_paths([options.out])
    if kept is not None:
        from gpubench_reports.fleet.lake import write_lake

        line = write_lake(fleet, kept)
        if not options.json:
            print(line)
    return exit_code(verdict)


def _day(text: str) -> str:
    """As the results' dates are written; empty as it is."""
    found = day_of(text)
    if text and not found:
        raise ReportError("--since", f"'{text}' is no day like 2026-12-31")
    return found


def _inputs(options: argparse.Namespace) -> list[Path]:
    from gpubench_reports.fleet.lake import is_lake
    from gpubench_reports.fleet.result_files import files_in
    from gpubench_reports.results.companions import with_companions

    inputs = [] if options.inventory is None else [options.inventory]
    if is_lake(options.where):  # in the cloud perhaps: a page that is one of its files is not HTML
        return [*inputs, *Path(options.where).rglob("*.parquet")]
    return [*inputs, *with_companions(files_in(Path(options.where)))]


def _read(options: argparse.Namespace, since: str) -> "Fleet":
    from gpubench_reports.fleet.inventory import read_inventory, with_places
    from gpubench_reports.fleet.lake import is_lake, read_lake
    from gpubench_reports.fleet.result_files import read_folder

    inventory = None if options.inventory is None else read_inventory(options.inventory)
    if is_lake(options.where):
        fleet = read_lake(options.where, since)
    elif since:
        raise ReportError("--since", "is for Parquet; a folder of result files is one sweep")
    else:
        fleet = read_folder(Path(options.where))
    return fleet if inventory is None else with_places(fleet, inventory)


def _rehearse(options: argparse.Namespace) -> int:
    if options.fleets < 1:
        raise ReportError("--fleets", "must be >= 1")
    if options.seed < 0:
        raise ReportError("--seed", "must be >= 0")
    from gpubench_reports.fleet.rehearsal import rehearse
    from gpubench_reports.fleet.simulation import Plan

    plan = Plan(gpus=options.gpus, rows=options.rows)
    print(rehearse(plan, options.fleets, options.seed, _say), end="")
    return 0


def _say(line: str) -> None:
    print(f"{PROGRAM}: {line}", file=sys.stderr, flush=True)
