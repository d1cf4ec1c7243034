"""gpubench-report agree: how well repetitions agree."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import json_flag

NAME = "agree"
SUMMARY = "say how well repetitions agree"
HELP = """\
Compares files of equal runs, each with each: how far the medians lie apart, how wide the intervals
are, and how many pairs of rows a comparison tells apart (5 %, if nothing but chance is between
the runs), by concept. Then the rows that lie farthest apart, and those that some file lacks.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="FILE.json", type=Path, nargs="+")
    json_flag(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.agree import agree, as_json
    from gpubench_reports.results.reader import read

    found = agree([read(path) for path in options.results])
    if options.json:
        print(as_json(found))
        return
    from gpubench_reports.pages.terminal.agreement import print_agreement

    print_agreement(found)
    if found.note:
        print(f"note: {found.note}")
