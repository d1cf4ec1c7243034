"""What is open now, after nights and after people's decisions."""

import fnmatch
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.names import is_utf8
from gpubench_reports.common.plain_text import clean
from gpubench_reports.nightly.judging.decisions import present_decisions
from gpubench_reports.nightly.judging.history import (
    Key,
    MachineHistory,
    Standing,
    row_and_mode,
    shown_mode,
)
from gpubench_reports.nightly.judging.machine import machine_first
from gpubench_reports.nightly.judging.missing import NEVER, is_retired, missing_line
from gpubench_reports.nightly.rule.regression import IMPROVEMENT, REGRESSION
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.process_file import is_failure
from gpubench_reports.nightly.store.store import Store, now

ALL = "*"  # no machine and no mode can be called that


@dataclass
class MachineStatus:
    """What is open on one machine after its latest night."""

    machine: str
    night: int
    date: str
    regressions: list[Standing] = field(default_factory=list)
    acknowledged: list[Standing] = field(default_factory=list)
    improvements: list[Standing] = field(default_factory=list)
    verdict: dict[str, Any] = field(default_factory=dict)
    is_whole: bool = True  # whether what the latest night lacks is missing, not the night itself
    last_judged: int = 0  # what people decide is about what that night and those before it say
    unjudged: list[str] = field(default_factory=list)  # why the latest night could not be judged
    machine_first: list[str] = field(default_factory=list)  # why to look at the machine first
    blind: list[dict[str, Any]] = field(default_factory=list)  # series whose small changes hide

    @property
    def exit_code(self) -> int:
        if self.regressions:
            return 1
        return 2 if self.unjudged else 0

    @property
    def day(self) -> str:
        """The day it is [YYYY-MM-DD, UTC]: today, or the latest night's if the clock was set back.

        Nights may have ended, or may be added late."""
        return max(self.date[:10], now()[:10])

    def is_muted(self, standing: Standing) -> bool:
        """Whether somebody knows of the regression, and that is still so."""
        decision = standing.acknowledged
        return decision is not None and self.day <= decision["until"]


def _why(index: Index, machine: str, number: int) -> str:
    """What most rows of a night lack."""
    found = index.rows(
        "select problem from problem where machine = ? and number = ?"
        " group by problem order by count(*) desc, problem limit 1",
        (machine, number),
    )
    return f": {found[0][0]}" if found else ""


def status(store: Store, index: Index, settings: Settings) -> list[MachineStatus]:
    """One a machine, from the index as it is."""
    decisions = present_decisions(store, index)
    found = []
    for machine in store.machines():
        nights = index.rows(
            "select number, date, state, note, verdict from night where machine = ?"
            " and state <> 'duplicate' order by number desc limit 1",
            (machine,),
        )
        if not nights:
            continue
        number, date, state, note, text = nights[0]
        verdict = json.loads(text) if text else {}
        if verdict:  # but for what was retired since
            verdict["missing"] = [
                entry
                for entry in verdict.get("missing", [])
                if not is_retired(
                    machine,
                    (entry["device"], entry["mode"], entry["benchmark"]),
                    entry.get("last_night", NEVER),
                    entry["why"],
                    decisions,
                )
            ]
        judged = index.rows(
            "select max(number) from night where machine = ? and verdict is not null", (machine,)
        )
        one = MachineStatus(machine, number, date, verdict=verdict, last_judged=judged[0][0] or 0)
        one.is_whole = state == "ok" and not note and verdict.get("judged", 0) > 0
        if state != "ok":
            one.unjudged.append(f"night {number} is {state}: {note}")
        elif not verdict:
            one.unjudged.append(f"night {number} has not been judged")
        elif not verdict["judged"]:
            one.unjudged.append(f"night {number} has no row to judge{_why(index, machine, number)}")
        elif note:
            one.unjudged.append(f"night {number}: {note}")
        one.unjudged += [missing_line(entry) for entry in verdict.get("missing", [])]
        history = MachineHistory(index, machine)
        one.machine_first = machine_first(history, verdict.get("judged", 0), settings)
        one.blind = verdict.get("blind", [])
        for key in history.series():
            standing = history.standing_now(key, decisions, settings)
            kind = standing.kind(settings)
            if kind == IMPROVEMENT:
                one.improvements.append(standing)
            elif kind == REGRESSION:
                if one.is_muted(standing):
                    one.acknowledged.append(standing)
                else:
                    one.regressions.append(standing)
        for group in (one.regressions, one.acknowledged, one.improvements):
            group.sort(key=lambda s: -abs(math.log(s.level / s.reference)))
        found.append(one)
    return found


def decide(
    store: Store,
    index: Index,
    settings: Settings,
    action: str,
    pattern: str,
    reason: str,
    until: str = "",
    machine: str | None = None,
    mode: str | None = None,
) -> list[tuple[str, str]]:
    """Accepts or acknowledges what is open and matches the shell pattern: on that machine and of
    that mode, or on all machines and of both modes where it is `ALL`. Returns each series' machine
    and what it is called.

    Missing series that match are retired by `accept`, unless the night is lacking itself. Raises
    ReportError if nothing matches, or if series of several machines or of both modes match and none
    was named.
    """
    if not reason.strip():
        raise ReportError(action, "a decision needs a reason")
    if not is_utf8(reason):
        raise ReportError(action, "the reason is not UTF-8 text")
    made: list[dict[str, Any]] = []
    decisions = present_decisions(store, index)
    chosen = _on(machine, status(store, index, settings))
    for one in chosen:
        for what, series in _decidable(one, action).items():
            matching = [key for key in series if _matches(key, pattern, mode)]
            if not matching:
                continue
            if until and until < one.day:
                raise ReportError(until, f"is past: today is {one.day}")
            decision = {
                "action": what,
                "machine": one.machine,
                "night": one.last_judged,
                "series": [list(key) for key in matching],
                "reason": reason,
            }
            if what == "accept":
                history = MachineHistory(index, one.machine)
                decision["levels"] = [
                    history.level_now(key, decisions, settings) for key in matching
                ]
            made.append(decision | ({"until": until} if until else {}))
    if not made:
        raise _nothing_open(chosen, action, pattern, mode)
    if machine is None:
        _require_one_machine(made, pattern)
    if mode is None:
        _require_one_mode(made, pattern)
    for decision in made:
        store.decide(decision)
    return [
        (decision["machine"], row_and_mode(name, of))
        for decision in made
        for _, of, name in decision["series"]
    ]


def _decidable(one: MachineStatus, action: str) -> dict[str, list[Key]]:
    """The series that are open to the action, by what it does to them."""
    groups = [*one.regressions, *one.acknowledged]
    if action != "accept":
        return {action: _keys(s.event for s in groups)}
    groups += one.improvements
    return {
        action: _keys(s.event for s in groups),
        "retire": _missing(one) if one.is_whole else [],
    }


def _missing(one: MachineStatus) -> list[Key]:
    missing = one.verdict.get("missing", [])
    return _keys(entry for entry in missing if not is_failure(entry["why"]))


def _nothing_open(
    found: list[MachineStatus], action: str, pattern: str, mode: str | None
) -> ReportError:
    for one in found if action == "accept" else ():
        # Missing from a night that lacks more than them.
        if not one.is_whole and any(_matches(key, pattern, mode) for key in _missing(one)):
            line = f"matches rows of night {one.night}, which does not show that they are gone"
            return ReportError(pattern, f"{line}: {one.unjudged[0]}")
    of = f" in mode {mode}" if mode in ("cold", "hot") else ""
    return ReportError(pattern, f"matches nothing that is open to {action}{of}")


def _keys(entries: Iterable[dict[str, Any] | None]) -> list[Key]:
    return [(entry["device"], entry["mode"], entry["benchmark"]) for entry in entries if entry]


def _matches(key: Key, pattern: str, mode: str | None) -> bool:
    of_mode = mode in (None, ALL, shown_mode(key[1]))
    return of_mode and fnmatch.fnmatchcase(key[2], pattern)


def _require_one_machine(made: list[dict[str, Any]], pattern: str) -> None:
    machines = sorted({decision["machine"] for decision in made})
    if len(machines) > 1:
        which = "name one with --machine=NAME, or all with --machine='*'"
        raise ReportError(pattern, f"matches on {', '.join(machines)}: {which}")


def _require_one_mode(made: list[dict[str, Any]], pattern: str) -> None:
    """A row's hot and cold times say different things: one can be meant to change alone."""
    modes: dict[str, str] = {}  # and the first row of each
    for decision in made:
        for _, mode, name in decision["series"]:
            modes.setdefault(shown_mode(mode), name)
    if len(modes) > 1:
        both = " and ".join(f"{name} ({mode})" for mode, name in sorted(modes.items()))
        which = "name a mode with --mode=cold or --mode=hot, or both with --mode='*'"
        raise ReportError(pattern, f"matches {both}: {which}")


def _on(machine: str | None, found: list[MachineStatus]) -> list[MachineStatus]:
    """Those that --machine means: all, unless it names one. ReportError if it is not there."""
    if machine in (None, ALL):
        return found
    chosen = [one for one in found if one.machine == machine]
    if not chosen:
        raise ReportError("--machine", f"'{clean(str(machine))}' has no nights in this store")
    return chosen
