"""What a file says about the state of its device."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench_reports.common.units import plural, si
from gpubench_reports.results.clock import (
    clock_changed,
    clock_lowered,
    power_capped,
    reference_clock,
)
from gpubench_reports.results.intervals import width_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import Diagnosis, diagnose
from gpubench_reports.rules.verdicts.rulebook import rules


@dataclass(frozen=True)
class Health:
    """What a file says about the state of its device, in sentences; `well` is False if one is bad
    and None where nothing was observed. `fault` would explain its rows."""

    well: bool | None
    sentences: list[str]
    fault: Diagnosis | None = None

    @property
    def word(self) -> str:
        if self.well and self.fault:  # which is the code's or the host's
            return "device healthy"
        return {True: "healthy", False: "not healthy", None: "not observed"}[self.well]


def health(result: ResultFile) -> Health:
    """Clock, throttling, temperature, convergence and failures of a file, and the one fault that
    would explain its rows."""
    ok, limits = result.timed, rules()["limits"]
    said, bad = [], False
    fault = next(iter(diagnose(result)), None)
    if fault and fault.of_device:
        bad = True
    sharing = result.context.device_state.get("processes", 1)
    if isinstance(sharing, int) and sharing > 1:
        said.append(f"{sharing} processes computed on the GPU, this one included")
        bad = True
    failed = sum(row["status"] == "failed" for row in result.records)
    if failed:
        said.append(f"{plural(failed, 'row')} gave wrong results or could not run")
        bad = True
    if open_ended := [row for row in ok if row["converged"] == 0]:
        said.append(_not_converged(open_ended))
        unsteady = sum(_is_unsteady(row, limits["unsteady"]) for row in open_ended)
        bad = bad or unsteady > limits["shaky"] * len(ok)
    if result.context.modelled:
        said.append("nothing was measured: a modelled device is never hot or throttled")
        return Health(False if bad else None, said)
    throttled, clock, warm, power = (
        [row[key] for row in ok if not math.isnan(row[key])]
        for key in ("throttled", "sm_clock_hz", "temperature_c", "power_w")
    )
    if slow := sum(value > 0 for value in throttled):
        said.append(f"the clock was throttled in {plural(slow, 'row')}")
        bad = True
    lowered = [row for row in ok if clock_lowered(row, reference_clock(result))]
    if throttled and not slow:
        said.append("no row was throttled" + (" by heat or the hardware" if lowered else ""))
    if lowered:
        said.append(_lowered(lowered))
    if clock:
        ends = dict.fromkeys((si(min(clock), "Hz"), si(max(clock), "Hz")))
        said.append(f"SM clock {' to '.join(ends)}")
    if warm:
        said.append(f"up to {max(warm):.0f} °C")
        if max(warm) >= limits["hot_celsius"]:
            said[-1] += ", which is at its limit"
            bad = True
    if power:
        said.append(f"up to {max(power):.0f} W")
    observed = bool(clock or warm or throttled)
    if not observed:
        said.append("clock, temperature and throttling were not recorded")
    return Health(False if bad else True if observed else None, said, fault)


def _not_converged(rows: Sequence[dict[str, Any]]) -> str:
    """How many rows did not converge, and for how many of them the clock is to blame."""
    said = f"{plural(len(rows), 'row')} did not converge"
    changed = sum(map(clock_changed, rows))
    return said + (f" ({changed} of them because the clock changed)" if changed else "")


def _is_unsteady(row: dict[str, Any], most: float) -> bool:
    """Whether the time of a row that did not converge is not known well, for no known reason."""
    return not clock_changed(row) and not width_of(row) <= most


def _lowered(rows: Sequence[dict[str, Any]]) -> str:
    capped = sum(map(power_capped, rows))
    why = f" (the power limit in {capped} of them)" if capped else ""
    lowest = si(min(row["sm_clock_hz"] for row in rows), "Hz")
    return f"the clock fell in {plural(len(rows), 'row')}, down to {lowest}{why}"
