"""gpubench-nightly accept: takes the present level of a series as its baseline."""

import argparse

from gpubench_reports.nightly.commands.arguments import decision_arguments
from gpubench_reports.nightly.commands.shared import decide_and_tell

NAME = "accept"
SUMMARY = "take the present level as the new baseline"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    decision_arguments(parser)


def run(options: argparse.Namespace) -> int:
    return decide_and_tell(options, "accept")
