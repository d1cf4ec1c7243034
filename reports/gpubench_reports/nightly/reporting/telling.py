"""What a webhook is told: where machines stand, or why there was no night."""

from collections.abc import Sequence

from gpubench_reports.nightly.judging.status import MachineStatus
from gpubench_reports.nightly.reporting.status_document import SCHEMA, status_document
from gpubench_reports.nightly.reporting.summary import REHEARSAL, lines
from gpubench_reports.nightly.reporting.webhooks import Message
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.store import Store

_WORDS = {0: "nothing open", 1: "regression", 2: "could not judge"}


def standing_message(store: Store, found: Sequence[MachineStatus], settings: Settings) -> Message:
    document = status_document(store, found)
    names = ", ".join(one.machine for one in found)
    mark = "REHEARSAL: " if store.rehearsal else ""
    title = f"{mark}gpubench: {_WORDS[document['exit_code']]} on {names}"
    said = [line for one in found for line in lines(one, settings, rehearsal=False)]
    return Message(title, tuple([REHEARSAL, *said] if store.rehearsal else said), document)


def no_night_message(where: str, problem: str, code: int) -> Message:
    """Says that a night was not measured, or not judged; `where` names the machine or store."""
    document = {"schema": SCHEMA, "exit_code": code, "machines": [], "problem": problem}
    return Message(f"gpubench: no night on {where}", (problem,), document)
