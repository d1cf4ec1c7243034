"""gpubench-nightly export: the store for others' tools."""

import argparse
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import opened

NAME = "export"
SUMMARY = "for others' tools"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("format", choices=("parquet", "openmetrics", "junit", "pushgateway"))
    parser.add_argument("out", help="a folder for parquet, a URL for pushgateway, else a file")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.judging.judge import judge_new
    from gpubench_reports.nightly.reporting import export, metrics
    from gpubench_reports.nightly.reporting.parquet import folder_for
    from gpubench_reports.nightly.reporting.posting import is_url

    to_gateway = options.format == "pushgateway"
    if to_gateway and not is_url(options.out):
        raise ReportError(options.out, "is no address like http://host:9091")
    out = folder_for(options.out) if options.format == "parquet" else Path(options.out)
    store, index, settings = opened(options)
    with index:
        judge_new(store, index, settings)
        for machine in store.machines() if to_gateway else ():
            metrics.push(store, index, settings, options.out, machine)
            print(f"pushed: {machine}")
        if not to_gateway:
            write = getattr(export, options.format)
            print(write(store, index, settings, out))
    return 0
