"""gpubench-nightly accept: takes the present level of a series as its baseline."""

import argparse

from gpubench_reports.nightly.commands.arguments import rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import decide_and_tell

NAME = "accept"
SUMMARY = "take the present level as the new baseline"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("pattern", help="of names, as the shell has them: 'stream/*'")
    parser.add_argument("--reason", required=True)


def run(options: argparse.Namespace) -> int:
    return decide_and_tell(options, "accept")
