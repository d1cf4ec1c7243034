"""gpubench-nightly acknowledge: keeps quiet about a known regression until a day."""

import argparse

from gpubench_reports.nightly.commands.arguments import day, rehearsal_argument, store_arguments
from gpubench_reports.nightly.commands.shared import decide_and_tell

NAME = "acknowledge"
SUMMARY = "keep quiet about a known regression"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("pattern", help="of names, as the shell has them: 'stream/*'")
    parser.add_argument("--until", required=True, type=day, metavar="YYYY-MM-DD")
    parser.add_argument("--reason", required=True)


def run(options: argparse.Namespace) -> int:
    return decide_and_tell(options, "acknowledge", options.until)
