"""gpubench-report peers: gpubench beside other programs."""

import argparse
from pathlib import Path

from gpubench_reports.commands.arguments import json_flag

NAME = "peers"
SUMMARY = "compare gpubench with other programs"
HELP = """\
Compares gpubench with other programs on the same GPU. Prints gpubench's result divided by theirs,
with bytes and FLOP counted in the same way, and the seconds that each program needs for an interval
of ±0.5 %. DIR holds the runs of the other programs.

With --program, first runs gpubench and the others alternately. The others are PyTorch (in the
Python given by --python) and any of BabelStream, gpu-benches, mixbench, nvbandwidth, nvbench and
nccl-tests in the folder --sources, each built in DIR/build. Runs that are already in DIR are not
repeated. Programs that cannot run are named, with the reason.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path)
    parser.add_argument("--program", metavar="GPUBENCH", type=Path, help="run this and the others")
    parser.add_argument(
        "--sources", metavar="FOLDER", type=Path, help="the folder with the other programs' sources"
    )
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        default="python3",
        help="a Python that has PyTorch (default: %(default)s)",
    )
    parser.add_argument("--nvcc", metavar="NVCC", default="nvcc", help="(default: %(default)s)")
    parser.add_argument("--device", metavar="NAME", default="", help="gpubench's name for the GPU")
    parser.add_argument(
        "--runs",
        metavar="N",
        type=int,
        default=5,
        help="runs of each program (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        metavar="SECONDS",
        type=float,
        default=540,
        help="start no run after this time (default: %(default)s)",
    )

    json_flag(parser)


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons.peers import answers, running
    from gpubench_reports.pages.terminal.peers import print_peers

    settings = running.Settings(
        options.program or Path(),
        options.directory,
        options.sources,
        options.python,
        options.nvcc,
        options.device,
        options.runs,
        options.seconds,
    )
    running.check(settings)
    skipped = running.run_all(settings) if options.program else {}
    if not options.json:
        for name, why in skipped.items():
            print(f"skipped {name}: {why}")
    found = answers.compare(options.directory)
    if options.json:
        print(answers.as_json(found, skipped))
    else:
        print_peers(found)
