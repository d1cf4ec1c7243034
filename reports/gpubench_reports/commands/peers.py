"""gpubench-report peers: gpubench beside other programs."""

import argparse
from pathlib import Path

NAME = "peers"
SUMMARY = "compare gpubench with other programs"
HELP = """\
Other programs on the same GPU: what gpubench finds over what they find, with bytes and FLOP
counted alike, and the seconds that each needs for an interval of 0.5 % to either side. DIR holds
their runs.

With --program they are run first, in turns: PyTorch of --python, and of the folder --sources what
it holds of BabelStream, gpu-benches, mixbench, nvbandwidth, nvbench and nccl-tests, each of which
is built in DIR/build. Runs that DIR has already are not repeated. Whatever cannot be run is named
with the reason.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path)
    parser.add_argument("--program", metavar="GPUBENCH", type=Path, help="run this and the others")
    parser.add_argument("--sources", metavar="FOLDER", type=Path, help="of the other programs")
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        default="python3",
        help="that has PyTorch (default: %(default)s)",
    )
    parser.add_argument("--nvcc", metavar="NVCC", default="nvcc", help="(default: %(default)s)")
    parser.add_argument("--device", metavar="NAME", default="", help="what gpubench calls the GPU")
    parser.add_argument(
        "--runs", metavar="N", type=int, default=5, help="of each program (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds",
        metavar="SECONDS",
        type=float,
        default=540,
        help="after which no run is begun (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    from gpubench_reports.comparisons import peers
    from gpubench_reports.pages.tables import print_peers

    settings = peers.Settings(
        options.program or Path(),
        options.directory,
        options.sources,
        options.python,
        options.nvcc,
        options.device,
        options.runs,
        options.seconds,
    )
    peers.check(settings)
    if options.program:
        for name, why in peers.run_all(settings).items():
            print(f"skipped {name}: {why}")
    print_peers(peers.compare(options.directory))
