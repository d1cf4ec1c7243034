"""gpubench-report timed: a result file of the rows that have a time."""

import argparse
from pathlib import Path

from gpubench_reports.commands.output import print_paths

NAME = "timed"
SUMMARY = "write a result file of the rows that have a time"
HELP = """\
Writes the result file without its skipped and failed rows, which have no time. Google Benchmark's
compare.py stops at a row that has none.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    parser.add_argument("-o", "--out", metavar="OUT.json", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.common.files import require_output, write_atomically
    from gpubench_reports.results.companions import with_companions
    from gpubench_reports.results.importers import to_bytes
    from gpubench_reports.results.timed import timed

    require_output(options.out, with_companions([options.result]))
    write_atomically(options.out, to_bytes(timed(options.result)))
    print_paths([options.out])
