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
  items       steps, launches, ... per second, of a program of several operations
  law ratio   the result divided by the concept's law; 1.000 means that theory holds
  of roof     share of the roof that limits this row
  predicted   time that the model predicts, and its signed error
  bus         bus bandwidth of a collective
  bound       what limits the row: dram, l2, shared, issue, fp32, tensor, latency, launch, ...; or
              a more specific limit that its figures show, such as branch paths or the host,
              followed by the label
  note        numbers of notes below the table: why the row should be read with care (not converged,
              throttled, an unconfirmed counting rule), what the prediction assumes, how the
              compiler changed the counted accesses

Then prints the notes, and the rows that were skipped or failed, with the reason. Empty columns are
left out. In a terminal the table fits the window; in a pipe it is up to 190 characters wide
(less -S).
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
