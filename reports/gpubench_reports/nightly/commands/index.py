"""gpubench-nightly index: brings the index up to date."""

import argparse
import sys

from gpubench_reports.common.plain_text import clean
from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import opened

NAME = "index"
SUMMARY = "bring the index up to date"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("--rebuild", action="store_true", help="from all files, anew")


def run(options: argparse.Namespace) -> int:
    _, index, settings = opened(options, writes=True)
    with index:
        done = index.rebuild(settings) if options.rebuild else index.update(settings)
    print(f"{done.seen} nights, {done.read} read anew")
    for line in done.quarantined:
        print(f"quarantined: {clean(line)}", file=sys.stderr)
    return 2 if done.quarantined else 0
