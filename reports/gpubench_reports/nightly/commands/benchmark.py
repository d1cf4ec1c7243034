"""gpubench-nightly benchmark: how long indexing and judging take."""

import argparse
from pathlib import Path

from gpubench_reports.nightly.commands.arguments import positive_integer
from gpubench_reports.nightly.commands.shared import say

NAME = "benchmark"
SUMMARY = "how long indexing and judging take"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for count, default in (("series", 500), ("nights", 365), ("processes", 5)):
        parser.add_argument(
            f"--{count}",
            type=positive_integer,
            default=default,
            metavar="N",
            help="default: %(default)s",
        )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where the store is made (a temporary one)"
    )


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.trials.store_speed import benchmark

    print(benchmark(options.series, options.nights, options.processes, options.folder, say))
    return 0
