"""gpubench-report agree: how well repetitions agree."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import json_flag

NAME = "agree"
SUMMARY = "show how well repeated runs agree"
HELP = """\
Compares repeated runs, each file with every other. Prints, by concept, how far apart the medians
are, how wide the intervals are, and how many pairs of rows the comparison calls different. (5 %
are expected, if only chance separates the runs.) Then lists the rows that are farthest apart, the
rows that were held back or did not converge, and the rows that some file lacks. Files that state
another device, mode, program, compiler, CUDA version or driver, or other injected faults, are no
repetitions and are refused: compare shows how they differ.
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
