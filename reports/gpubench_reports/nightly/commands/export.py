"""gpubench-nightly export: the store for others' tools."""

import argparse
from pathlib import Path

from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import opened

NAME = "export"
SUMMARY = "for others' tools"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("format", choices=("parquet", "openmetrics", "junit"))
    parser.add_argument("out", type=Path, help="a folder for parquet, else a file")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.judging.judging import judge_new
    from gpubench_reports.nightly.reporting import export

    store, index, settings = opened(options)
    with index:
        judge_new(store, index, settings)
        write = getattr(export, options.format)
        print(write(store, index, settings, options.out))
    return 0
