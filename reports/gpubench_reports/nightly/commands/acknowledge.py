"""gpubench-nightly acknowledge: keeps quiet about a known regression until a day."""

import argparse

from gpubench_reports.nightly.commands.arguments import day, decision_arguments
from gpubench_reports.nightly.commands.shared import decide_and_tell

NAME = "acknowledge"
SUMMARY = "keep quiet about a known regression"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    decision_arguments(parser)
    parser.add_argument("--until", required=True, type=day, metavar="YYYY-MM-DD")


def run(options: argparse.Namespace) -> int:
    return decide_and_tell(options, "acknowledge", options.until)
