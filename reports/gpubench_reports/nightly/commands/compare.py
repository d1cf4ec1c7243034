"""gpubench-nightly compare: the gate for pull requests."""

import argparse
from pathlib import Path

from gpubench_reports.nightly.commands.arguments import gate_arguments
from gpubench_reports.nightly.commands.shared import gate_of

NAME = "compare"
SUMMARY = "two programs, interleaved"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, metavar="A", help="the program to compare with")
    parser.add_argument("b", type=Path, metavar="B", help="the program under test")
    gate_arguments(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="also write the table there")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.common.files import require_output, write_atomically

    if options.out is not None:
        require_output(options.out, [options.a, options.b])
    gate = gate_of(options)
    with gate.alone():
        result = gate.compare(options.a, options.b)
    text = result.markdown()
    print(text, end="")
    if options.out is not None:
        write_atomically(options.out, text.encode())
    return int(result.exit_code)
