"""Where every machine stands, as one JSON document: `status --json`, and what a webhook is sent."""

from collections.abc import Sequence
from typing import Any

from gpubench_reports.nightly.judging.history import Standing
from gpubench_reports.nightly.judging.status import MachineStatus
from gpubench_reports.nightly.store.store import Store

SCHEMA = 1


def overall(found: Sequence[MachineStatus]) -> int:
    """The exit code for several machines: a regression anywhere, else what could not be judged."""
    codes = {one.exit_code for one in found}
    return 1 if 1 in codes else max(codes, default=0)


def status_document(store: Store, found: Sequence[MachineStatus]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "rehearsal": store.rehearsal,
        "exit_code": overall(found),
        "machines": [_machine(one) for one in found],
        "quarantined": [{"file": str(path), "why": why} for path, why in store.quarantined()],
    }


def _machine(one: MachineStatus) -> dict[str, Any]:
    return {
        "machine": one.machine,
        "night": one.night,
        "date": one.date,
        "exit_code": one.exit_code,
        "machine_first": one.machine_first,
        "regressions": [_series(standing) for standing in one.regressions],
        "acknowledged": [_series(standing) for standing in one.acknowledged],
        "improvements": [_series(standing) for standing in one.improvements],
        "unjudged": one.unjudged,
        "cannot_be_judged": one.blind,
    }


def _series(standing: Standing) -> dict[str, Any]:
    event = standing.event or {}
    rows = event.get(
        "rows", []
    )  # of many rows that moved together, which have no time of their own
    decision = standing.acknowledged or {}
    return {
        "device": event["device"],
        "mode": event["mode"],
        "benchmark": event["benchmark"],
        "ratio": standing.level / standing.reference,
        "reference_seconds": None if rows else standing.reference,
        "level_seconds": None if rows else standing.level,
        "first_night": event["first_night"],
        "how": event["how"],
        "class": event["class"],
        "commits": event.get("commits", ["", ""]),
        "rows": rows,
        "acknowledged_until": decision.get("until"),
        "reason": decision.get("reason"),
    }
