"""gpubench-nightly bisect: which commit made it slower."""

import argparse
from pathlib import Path

from gpubench_reports.nightly.commands.arguments import gate_arguments
from gpubench_reports.nightly.commands.shared import gate_of, say

NAME = "bisect"
SUMMARY = "which commit made it slower"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--good", required=True, metavar="COMMIT", help="one that was fast")
    parser.add_argument("--bad", required=True, metavar="COMMIT", help="a later one that is slow")
    parser.add_argument(
        "--repository", type=Path, default=Path.cwd(), metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument(
        "--build",
        metavar="COMMAND",
        help="run in each commit's worktree (default: CMake's release preset)",
    )
    parser.add_argument(
        "--built",
        type=Path,
        default=Path("build/gpubench"),
        metavar="PATH",
        help="the program in a worktree, once built (default: %(default)s)",
    )
    gate_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.gate.bisecting import bisect

    gate = gate_of(options)
    with gate.alone():  # while it builds, too: a comparison that is refused finds no commit
        return bisect(
            gate,
            options.repository,
            options.good,
            options.bad,
            options.build,
            options.built,
            say,
        )
