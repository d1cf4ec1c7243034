"""gpubench-nightly report: writes the trend page."""

import argparse
import os
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import opened

NAME = "report"
SUMMARY = "write the trend page"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("--out", type=Path, metavar="FILE.html", help="default: STORE/report.html")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.judging.judge import judge_new
    from gpubench_reports.nightly.reporting.page import write_page

    store, index, settings = opened(options)
    # In a store that is read-only for some machine's folder, the page has its place all the same.
    if options.out is None and not os.access(store.root, os.W_OK):
        raise ReportError(store.root, "cannot be written to: name the page with --out=FILE.html")
    with index:
        judge_new(store, index, settings)
        print(write_page(store, index, settings, options.out or store.root / "report.html"))
    return 0
