"""Rows to be wary of: what they say of themselves, and the line that an answer from them needs."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpubench_reports.common.units import plural, si
from gpubench_reports.results.clock import clock_lowered, power_capped, reference_clock
from gpubench_reports.results.reader import ResultFile

Doubts = dict[str, list[str]]  # of each row that has any, by its name
_NAMED = 8


def flags_of(row: Mapping[str, Any]) -> list[str]:
    """What the harness marked the row with."""
    flags = {"not converged": row["converged"] == 0, "throttled": row["throttled"] > 0}
    return [flag for flag, is_set in flags.items() if is_set]


def doubts_of(row: Mapping[str, Any], stated_hz: float) -> list[str]:
    """What keeps the row from being a figure of the device at its stated clock."""
    found = flags_of(row)
    capped = power_capped(row)
    if clock_lowered(row, stated_hz):
        why = ", power limit" if capped else ""
        found.append(f"clock fell to {si(row['sm_clock_hz'], 'Hz')}{why}")
    elif capped:
        found.append("power limit")
    return found


def doubtful(result: ResultFile, rows: Iterable[Mapping[str, Any]]) -> Doubts:
    """Those of `rows`, which are of `result`, that have doubts."""
    stated = reference_clock(result)
    return {row["name"]: doubts for row in rows if (doubts := doubts_of(row, stated))}


def doubts_line(doubts: Doubts, rows: int, which: str = "used") -> str:
    """How many of the `rows` that an answer rests on have doubts, and which; empty for none."""
    if not doubts:
        return ""
    named = [f"{name} ({'; '.join(words)})" for name, words in doubts.items()]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    verb = "was" if len(doubts) == 1 else "were"
    of_rows = f"of the {plural(rows, 'row')} {which}, {len(doubts)}"
    return f"{of_rows} {verb} held back or did not converge: {', '.join(named[:_NAMED])}{more}"
