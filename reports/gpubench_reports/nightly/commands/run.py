"""gpubench-nightly run: measures a night, stores it, judges it and writes the report."""

import argparse
import socket
from pathlib import Path, PurePath

from gpubench_reports.nightly.commands.arguments import (
    program_arguments,
    rehearsal_argument,
    store_arguments,
)
from gpubench_reports.nightly.commands.shared import conclude, opened, program_of, say

NAME = "run"
SUMMARY = "measure a night, store it, judge it, write the report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    store_arguments(parser)
    rehearsal_argument(parser)
    program_arguments(parser, Path("./gpubench"))
    parser.add_argument("--processes", type=int, metavar="N", help="fresh processes per night")
    parser.add_argument("--machine", metavar="NAME", help="default: host and device")
    parser.add_argument(
        "--rehearsal-noise",
        type=float,
        default=0.0,
        metavar="FRACTION",
        help="vary the modelled device from process to process",
    )
    parser.add_argument(
        "--junit", type=Path, metavar="FILE", help="also write the verdict as JUnit XML"
    )
    parser.add_argument(
        "--openmetrics", type=Path, metavar="FILE", help="also write the latest values"
    )


def _short(device: str) -> str:
    """The device in a machine's name: cuda and cuda:0 are one, and a file is called by its name."""
    from gpubench_reports.nightly.nights.health import gpu_of

    kind, _, which = device.partition(":")
    return PurePath(which).stem if kind == "model" else f"cuda-{gpu_of(device)}"


def run(options: argparse.Namespace) -> int:
    from gpubench_reports.nightly.nights.running import CannotJudgeError, NightRun
    from gpubench_reports.nightly.store.store import folder_name

    # Before a store is made for nights that are none.
    modelled = options.device.startswith("model")
    if modelled and not options.rehearsal:
        raise CannotJudgeError(
            options.device, "modelled nights are no nights: --rehearsal is for trying this out"
        )
    store, index, settings = opened(options, create=True)
    machine = folder_name(settings.machine or f"{socket.gethostname()}-{_short(options.device)}")
    run = NightRun(
        store,
        program_of(options, options.program, settings),
        settings,
        machine,
        say,
        options.rehearsal_noise,
    )
    aside = set(store.quarantined())
    with index:
        run.run(index)
        return conclude(options, store, index, settings, machine, aside)
