"""What a person reads after a night, in the terminal."""

from collections.abc import Sequence
from typing import Any

from gpubench_reports.common.units import si
from gpubench_reports.nightly.judging.history import Standing, row_and_mode
from gpubench_reports.nightly.judging.status import MachineStatus
from gpubench_reports.nightly.rule.settings import Settings

REHEARSAL = "REHEARSAL: every night here is modelled, nothing was measured"

_LISTED = 6  # series named at most


def percent(ratio: float) -> str:
    """A ratio as a signed change: 1.05 is "+5.0 %"."""
    return f"{(ratio - 1) * 100:+.1f} %"


def standing_line(standing: Standing) -> str:
    """One open change: how much, what, since when, how it was found, whose doing."""
    event = standing.event or {}
    times = f"{si(standing.reference, 's', 4)} -> {si(standing.level, 's', 4)} "
    rows = event.get("rows", [])
    series = row_and_mode(event["benchmark"], event["mode"])
    line = (
        f"{percent(standing.level / standing.reference):>8}  {series}  "
        f"{'' if rows else times}since night "
        f"{event['first_night']} ({event['how']}, {event['class']}){_commits(event)}"
    )
    if rows:
        line += f": {_listed(rows)}"
    if standing.acknowledged is not None:
        decision = standing.acknowledged
        line += f"; acknowledged until {decision['until']}: {decision['reason']}"
    return line


def _commits(event: dict[str, Any]) -> str:
    """When it began, and between which commits; what is not known is left out."""
    good, bad = (commit[:10] for commit in event.get("commits", ("", "")))
    words = [event.get("date", "")]
    if good and bad:
        words.append(f"commits {good}..{bad}" if good != bad else f"both sides commit {bad}")
    return "".join(f", {word}" for word in words if word)


def lines(one: MachineStatus, settings: Settings, rehearsal: bool) -> list[str]:
    """The machine's latest night, worst first."""
    found = [REHEARSAL] if rehearsal else []
    verdict = one.verdict
    found.append(f"{one.machine}, night {one.night} of {one.date[:16].replace('T', ' ')}")
    found += [f"  look at the machine before the program: {why}" for why in one.machine_first]
    groups = (
        ("REGRESSION", one.regressions),
        ("acknowledged", one.acknowledged),
        ("improvement", one.improvements),
    )
    for title, group in groups:
        if group:
            found.append(f"  {title}: {len(group)}")
            found += [f"    {standing_line(standing)}" for standing in group]
    if one.unjudged:
        found.append(f"  could not judge: {len(one.unjudged)}")
        found += [f"    {line}" for line in one.unjudged]
    if verdict:
        found += _notes(verdict)
        found += _blind(one.blind, settings)
    words = {0: "OK: nothing open", 1: "regression", 2: "could not judge"}
    found.append(f"  {words[one.exit_code]}")
    return found


def _notes(verdict: dict[str, Any]) -> list[str]:
    found = []
    new = [e for e in verdict["events"] if e["night"] == verdict["night"]]
    segments = verdict["segments"]
    if segments:
        what = sorted(
            {
                f"{key} {old or '(none)'} -> {new or '(none)'}"
                for s in segments
                for key, (old, new) in s["changed"].items()
            }
        )
        ratios = [s["ratio"] for s in segments]
        found.append(
            f"  new segment of {len(segments)} series ({'; '.join(what)}): first night from "
            f"{percent(min(ratios))} to {percent(max(ratios))} of the time before, not judged"
        )
    settled = {(e["device"], e["mode"], e["benchmark"]) for e in new}
    provisional = [
        f"{row_and_mode(name, mode)} ({'slower' if side > 0 else 'faster'})"
        for device, mode, name, side in verdict["provisional"]
        if (device, mode, name) not in settled
    ]
    listed = f": {_listed(provisional)}" if provisional else ""
    found.append(
        f"  {verdict['judged']} series, {verdict['learning']} of them learning, "
        f"{len(provisional)} provisional{listed}"
    )
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (" ..." if len(names) > _LISTED else "")


def _blind(series: Sequence[dict[str, Any]], settings: Settings) -> list[str]:
    """The series that a change of `visible` could pass unseen, and why."""
    found = [
        f"    {row_and_mode(entry['benchmark'], entry['mode'])}: {entry['why']}"
        for entry in series[:_LISTED]
    ]
    if len(series) > _LISTED:
        found.append(f"    and {len(series) - _LISTED} more")
    title = f"  cannot be judged at {percent(1 + settings.visible)}: {len(series)}"
    return [title, *found] if series else []
