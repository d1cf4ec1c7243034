"""A night's folder as it is now: which of its files are whole, and what that makes of the night."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason
from gpubench_reports.common.plain_text import clean
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.night_values import throttled_share
from gpubench_reports.nightly.store.process_file import (
    ProcessFile,
    read_process,
    refuse_other_kind,
)
from gpubench_reports.nightly.store.store import Night, Store, checksum, is_done, is_settled
from gpubench_reports.nightly.store.verdicts import is_verdict

_HOLDS = {"done.json": is_done, "verdict.json": is_verdict}


@dataclass
class NightFiles:
    """What the night's folder holds. `state` and `note` are those of the index's table."""

    state: str = "ok"
    note: str = ""
    plan: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Any] = field(default_factory=dict)
    verdict: dict[str, Any] | None = None
    files: list[ProcessFile] = field(default_factory=list)
    sums: list[tuple[str, str]] = field(default_factory=list)  # checksum and name of each


def read_night(store: Store, night: Night, settings: Settings, put_aside: list[str]) -> NightFiles:
    """Reads the night. Damaged files go into quarantine, and their names into `put_aside`, unless
    they are so young that they may still be on their way here."""
    here = NightFiles()
    coming: list[str] = []
    here.plan = _document(store, night, "plan.json", put_aside, coming) or {}
    done = _document(store, night, "done.json", put_aside, coming)
    here.verdict = _document(store, night, "verdict.json", put_aside, coming)
    here.done = done or {}
    _read_files(store, night, here, put_aside, coming)
    if coming:
        count = len(coming)
        these = "1 file is" if count == 1 else f"{count} files are"
        here.state, here.note = "incomplete", f"{these} not here yet"
    elif done is None:
        here.state, here.note = "running", "no done.json: it is being measured, or was killed"
    elif why := _spoiled(here, settings):
        here.state, here.note = "invalid", why
    else:
        here.note = _without_result(here.done.get("failures"))
    return here


def read_done(store: Store, night: Night, put_aside: list[str]) -> dict[str, Any]:
    """The night's done.json; empty if there is none, or none yet."""
    return _document(store, night, "done.json", put_aside, []) or {}


def _spoiled(here: NightFiles, settings: Settings) -> str:
    """Why a night that is whole is worth nothing; empty if it is."""
    if here.done.get("unhealthy"):
        return clean(str(here.done["unhealthy"]))
    if len({file.environment for file in here.files}) > 1:
        return "driver, compiler or device changed during the night"
    if len({file.context.made_from for file in here.files}) > 1:
        return "the program changed during the night"
    share = throttled_share(here.files)
    if share > settings.max_throttled:
        return f"{share:.0%} of the rows ran throttled"
    return ""


def _without_result(failures: Any) -> str:
    """Which processes of the night gave no result, and why; empty if all did."""
    if not isinstance(failures, dict):
        return ""
    return clean("; ".join(f"process {name}: {why}" for name, why in failures.items()))


def _document(
    store: Store, night: Night, name: str, put_aside: list[str], coming: list[str]
) -> dict[str, Any] | None:
    path = night.path / name
    try:
        document = night.document(name)
    except ReportError as error:
        if not is_settled(path):
            coming.append(name)
            return None
        why = error.problem
    else:
        holds = _HOLDS.get(name)
        if document is None or holds is None or holds(document):
            return document
        why = "does not hold what this program writes there"  # and never will: it is whole
    put_aside.append(str(store.quarantine(path, why)))
    return None


def _read_files(
    store: Store, night: Night, here: NightFiles, put_aside: list[str], coming: list[str]
) -> None:
    """Reads the results that done.json lists; names in `coming` those that may still arrive."""
    for name, expected in sorted(here.done.get("files", {}).items()):
        path = night.path / Path(name).name
        why = ""
        try:
            settled = is_settled(path)  # before it is read: it may settle meanwhile
            if checksum(path) == expected.get("sha256"):
                file = read_process(path)
                refuse_other_kind(file.context, path, store.rehearsal)
                here.files.append(file)
            elif settled:
                why = "is not what done.json says: changed, or copied in part"
            else:
                coming.append(name)
        except FileNotFoundError:
            if not store.was_quarantined(path):
                coming.append(name)
        except OSError as error:
            if path.is_file():  # not allowed, or a broken disk
                raise
            why = f"cannot read: {reason(error)}"
        except ReportError as error:
            why = error.problem
        if why:
            put_aside.append(f"{store.quarantine(path, why)}: {why}")
        elif name not in coming and path.exists():
            here.sums.append((expected["sha256"], name))
