"""What a file says of its device's state, as evidence for or against a fault: in words, or "" for
none."""

from collections.abc import Callable

import pandas as pd

from gpubench_reports.common.units import si
from gpubench_reports.results.clock import clock_changed
from gpubench_reports.results.intervals import is_unsure, width_of
from gpubench_reports.results.reader import ResultFile

_MANY = 0.10  # of the rows
_LOW_CLOCK, _WIDE, _HOT = 0.95, 0.05, 84
_OPTIMISED = ("-O2", "-O3", "-Ofast")


def low_clock(result: ResultFile, reference_hz: float) -> str:
    return low_clock_of(result.ok, reference_hz)


def low_clock_of(rows: pd.DataFrame, reference_hz: float, low: float = _LOW_CLOCK) -> str:
    """What the columns throttled, sm_clock_hz and temperature_c say. A clock is low below the share
    `low` of `reference_hz`."""
    found = []
    throttled = (rows["throttled"] > 0).mean()
    if throttled > _MANY:
        found.append(f"the driver held the clock back in {throttled:.0%} of the rows")
    clock = rows["sm_clock_hz"].dropna()
    if reference_hz > 0 and not clock.empty and clock.median() < low * reference_hz:
        found.append(
            f"the SMs ran at {si(clock.median(), 'Hz')}, {clock.median() / reference_hz:.0%} of "
            f"{si(reference_hz, 'Hz')}"
        )
    if (rows["temperature_c"] > _HOT).any():
        found.append(f"up to {rows['temperature_c'].max():.0f} °C")
    return "; ".join(found)


def narrow_link(result: ResultFile, reference_hz: float) -> str:
    state = result.context.device_state
    width, widest = state.get("pcie_width"), state.get("pcie_width_max")
    generation, latest = state.get("pcie_generation"), state.get("pcie_generation_max")
    found = []
    if width and widest and width < widest:
        found.append(f"the link trained at x{width} of x{widest}")
    if generation and latest and generation < latest:
        found.append(f"at generation {generation} of {latest}")
    return " ".join(found)


def not_optimised(result: ResultFile, reference_hz: float) -> str:
    flags = result.context.compiler_flags
    if flags is None or any(flag in flags.split() for flag in _OPTIMISED):
        return ""
    return f"compiled with {flags.strip()}" if flags.strip() else "compiled without flags"


def unsteady(result: ResultFile, reference_hz: float) -> str:
    """At a steady clock alone: samples at different clocks differ on an idle machine too. A row
    that did not converge by little is no evidence: the host's part of its time varies."""
    steady = [row for row in result.timed if not clock_changed(row)]
    if not steady:
        return ""
    shaky = sum(map(is_unsure, steady)) / len(steady)
    wide = sum(width_of(row) > _WIDE for row in steady) / len(steady)
    found = []
    if shaky > _MANY:
        found.append(f"{shaky:.0%} of the rows did not converge")
    if wide > _MANY:
        found.append(f"{wide:.0%} have intervals wider than {_WIDE:.0%}")
    return ", ".join(found)


BY_NAME: dict[str, Callable[[ResultFile, float], str]] = {
    f.__name__: f for f in (low_clock, narrow_link, not_optimised, unsteady)
}
