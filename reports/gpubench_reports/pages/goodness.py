"""Is it good? The answer in a word, and the few roofs that it leans on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpubench_reports.common.units import plural, si
from gpubench_reports.pages.answers import grades_of
from gpubench_reports.results.baselines import baseline_of
from gpubench_reports.results.clock import clock_lowered, reference_clock
from gpubench_reports.results.context import Roof
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.results.roof_pairs import pairs
from gpubench_reports.rules.verdicts.health import Health
from gpubench_reports.rules.verdicts.verdict import FINE, UNGRADED, Verdict

_FEW_LOW = 0.04  # of the rows: so many may be low where nothing else speaks of a fault
_FIRST_ROOFS = ("dram", "l2", "fp32", "tensor_bf16")  # as far as the file has them
_MOST_NAMED = 3
_ROOF_LOW = 0.9  # of the expected roof: less is worth a colour


@dataclass(frozen=True)
class Reached:
    """A roof as this run has it, and the share of what is expected of it."""

    title: str
    value: str
    share: float
    of: str  # what the share is of
    clock_hz: float = math.nan  # where the clock fell, and explains what is missing

    @property
    def is_low(self) -> bool:
        return self.share < _ROOF_LOW and math.isnan(self.clock_hz)


def roofs_reached(result: ResultFile) -> list[Reached]:
    """The roofs that people ask for first, over those of the device's modelled run, else over the
    device file's; of the others the ones that fall short."""
    context = result.context
    modelled: Mapping[str, Roof] = {}
    if shipped := baseline_of(result):
        roofs = shipped.context.roofs
        modelled = {roof.name: roof for roof in roofs if roof.provenance == "modelled"}
    found, stated = [], reference_clock(result)
    rows = {row["name"]: row for row in result.timed}
    for pair in pairs(context.roofs):
        expected = modelled.get(pair.name) or pair.filed
        if pair.found is None or expected is None:
            continue
        of = "expected" if pair.name in modelled else "its device file"
        value = si(pair.found.value, pair.unit)
        share = pair.found.value / expected.value
        clock = _low_clock(pair.found, rows.get(pair.found.source), stated, share)
        one = Reached(pair.title, value, share, of, clock)
        if pair.name in _FIRST_ROOFS or share < _ROOF_LOW:
            found.append((pair.name, one.share, one))
    places = {name: place for place, name in enumerate(_FIRST_ROOFS)}
    found.sort(key=lambda entry: (places.get(entry[0], len(places)), entry[1]))
    return [one for *_, one in found]


def _low_clock(roof: Roof, row: Mapping[str, Any] | None, stated_hz: float, share: float) -> float:
    """The clock at which `row` measured a roof of arithmetic, if it fell and the roof would else be
    reached, as far as the row's interval tells; NaN if not."""
    if roof.kind != "compute" or row is None or not clock_lowered(row, stated_hz):
        return math.nan
    fastest = row["seconds"] / row["ci_low_seconds"]
    clock = float(row["sm_clock_hz"])
    return clock if share * fastest * stated_hz / clock >= _ROOF_LOW else math.nan


def at_low_clock(reached: Sequence[Reached]) -> str:
    """Which roofs are below what is expected for their clock alone; empty for none."""
    held = [one for one in reached if one.share < _ROOF_LOW and not math.isnan(one.clock_hz)]
    if not held:
        return ""
    low, high = (si(ends(one.clock_hz for one in held), "Hz") for ends in (min, max))
    clocks = f"to {low}" if low == high else f"as low as {low}"
    return f"{_at(held)}, because the clock fell {clocks}."


def short_of(low: Sequence[Reached]) -> str:
    """How far roofs that are low are from what is expected: "dram is at 84 % of expected"."""
    return f"{_at(low)} of {low[0].of}"


def _at(some: Sequence[Reached]) -> str:
    shares = sorted(round(one.share * 100) for one in some)
    titles = [one.title for one in some[:_MOST_NAMED]]
    if len(some) > _MOST_NAMED:
        titles.append(f"{len(some) - _MOST_NAMED} more")
    span = f"{shares[0]} to {shares[-1]}" if shares[0] < shares[-1] else str(shares[0])
    return f"{_joined(titles)} {'are' if len(some) > 1 else 'is'} at {span} %"


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


@dataclass(frozen=True)
class Goodness:
    """`look`: "good", "doubt" or "bad". `words` answer, `more` are sentences that follow."""

    look: str
    words: str
    more: str = ""


def goodness(
    result: ResultFile,
    verdicts: Mapping[str, Verdict],
    health: Health,
    reached: Sequence[Reached],
) -> Goodness:
    """Yes where rows and roofs are as expected, no where roofs are low or rows failed, else
    partly."""
    off = sum(verdict.grade not in FINE for verdict in verdicts.values())
    failed = sum(row["status"] == "failed" for row in result.records)
    short = [one for one in reached if one.is_low]
    grades = grades_of(verdicts)
    if failed:
        grades = f"{plural(failed, 'row')} failed, {grades}"
    if result.context.interrupted:
        grades += ", of those that were run"
    if result.context.modelled and not failed:
        return Goodness("doubt", f"{grades}: model against law, nothing was measured")
    if short:
        more = " ".join(filter(None, (f"{grades}.", at_low_clock(reached))))
        return Goodness("bad", f"no: {short_of(short)}", more)
    if failed:
        return Goodness("bad", f"no: {grades}")
    if result.context.interrupted or all(v.grade == UNGRADED for v in verdicts.values()):
        return Goodness("doubt", grades)
    if not off:
        return Goodness("good", f"yes: {grades}")
    if off <= _FEW_LOW * len(verdicts) and not health.fault:
        more = "So few rows may be low by chance in a healthy run."
        return Goodness("good", f"yes: {grades}", more)
    fine = [one.title for one in reached if one.share >= _ROOF_LOW]
    roofs = f"The roofs {_joined(fine)} are reached." if fine else ""
    more = " ".join(filter(None, (roofs, at_low_clock(reached))))
    return Goodness("doubt", f"partly: {grades}", more)
