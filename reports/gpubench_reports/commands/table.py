"""gpubench-report table: a result file in the terminal."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import against

NAME = "table"
SUMMARY = "print a result file as a table"
HELP = """\
Prints one line per row:

  grade       as expected, low or suspiciously high: see html --help
  time        median
  useful      useful bytes per second       arithmetic  FLOP per second
  items       steps, launches, ... per second: what a program of several operations gets done
  law ratio   measured over the concept's law; 1.000 means that theory holds
  of roof     fraction of the roof that binds this row
  predicted   time that the model expects, and its signed error
  bus         bus bandwidth of a collective
  bound       what limits the row: dram, l2, shared, issue, fp32, tensor, latency, launch, ..., or
              what its figures say more exactly, such as branch paths or the host, with the
              label behind it
  note        numbers of notes below the table, on what to know before trusting it: not
              converged, throttled, an unconfirmed counting rule, what the prediction assumes, what
              the compiler made of the counted accesses

Then the notes, and the rows that were skipped or failed, with the reason. Empty columns are left
out. In a terminal the table fits the window; in a pipe it takes up to 190 characters (less -S).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", type=Path)
    against(parser)
    parser.add_argument(
        "--json", action="store_true", help="print rows, grades and health for other programs"
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.results.reader import read

    result = read(options.result)
    from gpubench_reports.comparisons.ranges import ranges_for
    from gpubench_reports.rules.verdicts.judge import judge

    verdicts = judge(result, ranges_for(result, options.against))
    if options.json:
        from gpubench_reports.pages.json_report import as_json

        print(as_json(result, verdicts))
        return
    from gpubench_reports.pages.terminal.result import print_result

    print_result(result, verdicts)
