"""What several commands do: open the store, judge what is new, tell it."""

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.extras import load_module
from gpubench_reports.common.plain_text import clean

if TYPE_CHECKING:
    from gpubench_reports.nightly.gate.gate import Gate
    from gpubench_reports.nightly.judging.status import MachineStatus
    from gpubench_reports.nightly.nights.running import Program
    from gpubench_reports.nightly.reporting.webhooks import Message
    from gpubench_reports.nightly.rule.settings import Settings
    from gpubench_reports.nightly.store.index import Index
    from gpubench_reports.nightly.store.store import Store

PROGRAM = "nightly"


def opened(
    options: argparse.Namespace, create: bool = False, writes: bool = False
) -> "tuple[Store, Index, Settings]":
    """`writes`: for a command that changes the store, as one that may make it does. The others also
    read a store that they cannot write to. Raises ReportError."""
    from gpubench_reports.nightly.rule.settings import load
    from gpubench_reports.nightly.store.index import Index
    from gpubench_reports.nightly.store.read_only import to_read, to_write
    from gpubench_reports.nightly.store.store import Store

    found = Store.open(options.store, options.rehearsal, create)
    store = to_write(found) if create or writes else to_read(found)
    changes = {
        name: getattr(options, name, None)
        for name in ("processes", "suite", "mode", "filter", "machine")
    }
    if changes["processes"] is not None:
        changes["min_processes"] = min(load(store.root).min_processes, changes["processes"])
    settings = load(store.root, **changes)
    return store, Index(store), settings


def judged(options: argparse.Namespace) -> "tuple[Store, Settings, list[MachineStatus]]":
    """Where every machine of the store stands, once all nights are judged.

    Raises ReportError when it has no nights.
    """
    from gpubench_reports.nightly.judging.judge import judge_new
    from gpubench_reports.nightly.judging.status import status

    store, index, settings = opened(options)
    with index:
        judge_new(store, index, settings)
        found = status(store, index, settings)
        _say_who_is_gone(store, index)
    if not found:
        print_quarantined(store.quarantined())
        raise ReportError(options.store, "has no nights yet")
    return store, settings, found


def require_told(options: argparse.Namespace, inputs: Iterable[Path]) -> None:
    """Proves that what is to be told of a night can be written, and replaces nothing that is read:
    before there is a night. Raises ReportError."""
    from gpubench_reports.common.files import require_output
    from gpubench_reports.nightly.store.outputs import refuse_own

    addresses = [webhook.file for webhook in options.webhook if webhook.file is not None]
    inputs = [*inputs, *addresses]
    for path in (options.junit, options.openmetrics):
        if path is None:
            continue
        refuse_own(options.store, path)
        # The first night makes the store's folder.
        if options.store.exists() or path.parent.resolve() != options.store.resolve():
            require_output(path, inputs)


def program_of(options: argparse.Namespace, path: Path, settings: "Settings") -> "Program":
    from gpubench_reports.nightly.nights.running import Program

    return Program(
        path.resolve() if path.exists() else path,
        options.device,
        settings.suite,
        settings.mode,
        tuple(options.extra),
        settings.timeout_seconds,
    )


def conclude(
    options: argparse.Namespace,
    store: "Store",
    index: "Index",
    settings: "Settings",
    machine: str,
    aside: set[tuple[Path, str]],
) -> int:
    """Judges what is new, writes what is derived, and prints the machine's standing.

    Names the files in quarantine that are not in `aside`: those that were not there before.
    """
    from gpubench_reports.nightly.judging.judge import judge_new
    from gpubench_reports.nightly.judging.status import status
    from gpubench_reports.nightly.reporting.page import write_page
    from gpubench_reports.nightly.reporting.summary import lines

    judge_new(store, index, settings)
    found = [one for one in status(store, index, settings) if one.machine == machine]
    if not found:
        raise ReportError(machine, "has no night that could be judged")
    print("\n".join(lines(found[0], settings, store.rehearsal)))
    print_quarantined(set(store.quarantined()) - aside)
    _say_who_is_gone(store, index)
    from gpubench_reports.nightly.reporting.export import junit, openmetrics

    for name, write in (("junit", junit), ("openmetrics", openmetrics)):
        if getattr(options, name) is not None:
            write(store, index, settings, getattr(options, name))
    page = write_page(store, index, settings, store.root / "report.html")
    print(f"  report: {clean(str(page))}")
    if options.pushgateway is not None:
        from gpubench_reports.nightly.reporting.metrics import push

        attempt(partial(push, store, index, settings, options.pushgateway, machine))
    if found[0].exit_code or options.webhook_always:
        from gpubench_reports.nightly.reporting.telling import standing_message

        post(options, standing_message(store, found, settings))
    return found[0].exit_code


def _say_who_is_gone(store: "Store", index: "Index") -> None:
    from gpubench_reports.nightly.judging.decisions import machines_gone

    for machine in machines_gone(store, index):
        say(f"decisions about {machine} are void: no machine of this store is called that")


def post(options: argparse.Namespace, message: "Message") -> None:
    for webhook in options.webhook:
        attempt(partial(webhook.post, message))


def attempt(deliver: Callable[[], None]) -> None:
    """Somebody who cannot be told does not change what a night has found."""
    try:
        deliver()
    except ReportError as error:
        say(f"not told: {error}")


def print_quarantined(files: Iterable[tuple[Path, str]]) -> None:
    for path, why in sorted(files):
        print(f"  quarantined: {clean(str(path))}: {why}")


def decide_and_tell(options: argparse.Namespace, action: str, until: str = "") -> int:
    from gpubench_reports.nightly.judging.judge import judge_new
    from gpubench_reports.nightly.judging.status import decide
    from gpubench_reports.nightly.reporting.page import write_page

    store, index, settings = opened(options, writes=True)
    with index:
        judge_new(store, index, settings)
        which = (options.machine, options.mode_of_series)
        what = (action, options.pattern, options.reason, until, *which)
        for machine, name in decide(store, index, settings, *what):
            print(f"{action}: {name} on {machine}")
        write_page(store, index, settings, store.root / "report.html")
    return 0


def gate_of(options: argparse.Namespace) -> "Gate":
    from gpubench_reports.nightly.gate.gate import Gate
    from gpubench_reports.nightly.rule.settings import Settings, load

    load_module("scipy", "the gate", "nightly")  # before anything is measured
    changes = {
        "suite": options.suite,
        "mode": options.mode,
        "filter": options.filter,
        "rounds": options.rounds,
        "gate_floor": options.floor,
    }
    settings: Settings = load(options.store, **changes)
    return Gate(
        settings, options.device, tuple(options.extra), options.rehearsal, options.seed, say
    )


def say(text: str) -> None:
    print(f"{PROGRAM}: {clean(text)}", file=sys.stderr, flush=True)
