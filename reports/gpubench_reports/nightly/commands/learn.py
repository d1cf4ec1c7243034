"""gpubench-nightly learn: measures nights back to back, until the rule has enough to judge by."""

import argparse

from gpubench_reports.nightly.commands import run as one_night
from gpubench_reports.nightly.commands.arguments import positive_integer

NAME = "learn"
SUMMARY = "measure nights back to back, for a new store"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    one_night.add_arguments(parser)
    parser.add_argument(
        "--nights",
        type=positive_integer,
        default=10,
        metavar="N",
        help="valid nights that the machine has at the end (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    with one_night.telling_of_failure(options):
        return one_night.measured(options, until=options.nights)
