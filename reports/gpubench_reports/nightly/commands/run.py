"""gpubench-nightly run: measures a night, stores it, judges it and writes the report."""

import argparse
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.extras import load_module
from gpubench_reports.nightly.commands.arguments import (
    program_arguments,
    rehearsal_argument,
    share,
    store_arguments,
    told_arguments,
)
from gpubench_reports.nightly.commands.shared import (
    conclude,
    opened,
    post,
    program_of,
    require_told,
    say,
)

if TYPE_CHECKING:
    from gpubench_reports.nightly.rule.settings import Settings
    from gpubench_reports.nightly.store.index import Index

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
        type=share,
        default=0.0,
        metavar="FRACTION",
        help="vary the modelled device from process to process",
    )
    told_arguments(parser)


def _short(device: str) -> str:
    """The device in a machine's name: cuda and cuda:0 are one, and a file is called by its name."""
    from gpubench_reports.nightly.nights.health import gpu_of

    kind, _, which = device.partition(":")
    return PurePath(which).stem if kind == "model" else f"cuda-{gpu_of(device)}"


def run(options: argparse.Namespace) -> int:
    with telling_of_failure(options):
        return measured(options, until=0)


@contextmanager
def telling_of_failure(options: argparse.Namespace) -> Iterator[None]:
    """Nobody looks at a night that did not run: whoever waits for its verdict is told."""
    from gpubench_reports.nightly.reporting.telling import no_night_message

    try:
        yield
    except Exception as error:
        is_ours = not isinstance(error, ReportError | OSError)
        problem = f"internal error: {type(error).__name__}: {error}" if is_ours else str(error)
        where = f"{socket.gethostname()} ({options.device})"
        post(options, no_night_message(where, problem, 3 if is_ours else 2))
        raise


def measured(options: argparse.Namespace, until: int) -> int:
    """Measures and judges one night, or as many as the machine needs to have `until` valid ones."""
    from gpubench_reports.nightly.judging.judge import judge_new
    from gpubench_reports.nightly.nights.rehearsal import device_file
    from gpubench_reports.nightly.nights.running import CannotJudgeError, NightRun
    from gpubench_reports.nightly.store.names import folder_name, machine_folder

    # Before a store is made for nights that are none, or that could not be judged.
    load_module("otava.analysis", "the judge", "nightly")
    if options.device.startswith("model") and not options.rehearsal:
        raise CannotJudgeError(
            options.device, "modelled nights are no nights: --rehearsal is for trying this out"
        )
    kind, _, named = options.device.partition(":")
    require_told(options, [options.program, *([Path(named)] if kind == "model" else [])])
    if options.rehearsal_noise:
        device_file(options.device)
    if options.machine:
        machine_folder(options.machine)
    store, index, settings = opened(options, create=True)
    called = settings.machine and machine_folder(settings.machine)
    machine = called or folder_name(f"{socket.gethostname()}-{_short(options.device)}")
    program = program_of(options, options.program, settings)
    aside = set(store.quarantined())
    with index:
        if not until:
            NightRun(store, program, settings, machine, say, options.rehearsal_noise).run(index)
        while until and (valid := _valid(index, settings, machine)) < until:
            say(f"learning: {valid} of {until} nights")
            NightRun(store, program, settings, machine, say, options.rehearsal_noise).run(index)
            judge_new(store, index, settings)
            if _valid(index, settings, machine) == valid:
                raise CannotJudgeError(
                    machine, "the last night was not valid: nightly status says why"
                )
        return conclude(options, store, index, settings, machine, aside)


def _valid(index: "Index", settings: "Settings", machine: str) -> int:
    index.update(settings)
    query = "select count(*) from night where machine = ? and state = 'ok'"
    return int(index.rows(query, (machine,))[0][0])
