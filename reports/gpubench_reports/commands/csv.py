"""gpubench-report csv: every row as CSV."""

import argparse
import sys
from pathlib import Path

from gpubench_reports.commands.arguments import against
from gpubench_reports.commands.output import PROGRAM
from gpubench_reports.common.plain_text import clean

NAME = "csv"
SUMMARY = "print every row as CSV"
HELP = """\
Prints one line per row, in SI base units: the time with its interval, the headline, law, roof,
prediction, what binds the row, and its verdict. With --all, there is also a column for every
argument, counter and note that any row has. A cell is empty if the row has no such value.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="every argument, counter and note that any row has",
    )
    against(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.pages.csv_report import to_csv
    from gpubench_reports.results.reader import read
    from gpubench_reports.rules.verdicts.judge import judge

    result = read(options.result)
    verdicts = judge(result, ranges_for(result, options.against))
    print(to_csv(result, verdicts, options.everything), end="")
    context = result.context
    modelled = ["modelled: nothing was measured"] if context.modelled else []
    for sentence in (*modelled, *context.reservations):  # the table has no place for them
        print(f"{PROGRAM}: {clean(str(options.result))}: {sentence}", file=sys.stderr)
