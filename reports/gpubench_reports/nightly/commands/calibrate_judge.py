"""gpubench-nightly calibrate-judge: false alerts, and how soon a change is found."""

import argparse
from pathlib import Path

from gpubench_reports.common.processes import usable_cpus
from gpubench_reports.nightly.commands.arguments import rehearsal_argument, seed, store_arguments
from gpubench_reports.nightly.commands.shared import say

NAME = "calibrate-judge"
SUMMARY = "false alerts, and what is found how soon"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    parser.add_argument("--series", type=int, default=200, metavar="N", help="default: %(default)s")
    parser.add_argument("--nights", type=int, default=150, metavar="N", help="default: %(default)s")
    for noise, text in (
        ("within", "of a process's median"),
        ("process", "between processes"),
        ("night", "between nights"),
    ):
        parser.add_argument(
            f"--{noise}",
            type=float,
            metavar="FRACTION",
            help=f"standard deviation {text}; default: the store's, else assumed",
        )
    parser.add_argument("--outliers", type=float, metavar="FRACTION", help="share of nights")
    parser.add_argument(
        "--persist",
        type=float,
        metavar="FRACTION",
        help="share of outliers that a rerun meets again (the store's, else 0.5)",
    )
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="of the simulation")
    parser.add_argument(
        "--workers", type=int, default=min(2, usable_cpus()), metavar="N", help="processes"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="plots and the table go there")


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.trials.false_alerts import try_judge

    print(try_judge(options, say), end="")
    return 0
