"""What a file says about the state of its device."""

from dataclasses import dataclass

from gpubench_reports.common.units import plural, si
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


def health(result: ResultFile) -> Health:
    """Clock, throttling, temperature, convergence and failures of a file, and the one fault that
    would explain its rows."""
    rows, ok = result.rows, result.ok
    limits = rules()["limits"]
    said, bad = [], False
    fault = next(iter(diagnose(result)), None)
    if fault:
        bad = True
    failed = int((rows["status"] == "failed").sum())
    if failed:
        said.append(f"{plural(failed, 'row')} gave wrong results or could not run")
        bad = True
    shaky = int((ok["converged"] == 0).sum())
    if shaky:
        said.append(f"{plural(shaky, 'row')} did not converge")
        bad = bad or shaky > limits["shaky"] * len(ok)
    if result.context.modelled:
        said.append("nothing was measured: a modelled device is never hot or throttled")
        return Health(False if bad else None, said)
    throttled = int((ok["throttled"] > 0).sum())
    if throttled:
        said.append(f"the clock was throttled in {plural(throttled, 'row')}")
        bad = True
    elif ok["throttled"].notna().any():
        said.append("no row was throttled")
    clock = ok["sm_clock_hz"].dropna()
    if not clock.empty:
        ends = dict.fromkeys((si(clock.min(), "Hz"), si(clock.max(), "Hz")))
        said.append(f"SM clock {' to '.join(ends)}")
    warm = ok["temperature_c"].dropna()
    if not warm.empty:
        said.append(f"up to {warm.max():.0f} °C")
        if warm.max() >= limits["hot_celsius"]:
            said[-1] += ", which is at its limit"
            bad = True
    power = ok["power_w"].dropna()
    if not power.empty:
        said.append(f"up to {power.max():.0f} W")
    observed = not (clock.empty and warm.empty and ok["throttled"].isna().all())
    if not observed:
        said.append("clock, temperature and throttling were not recorded")
    return Health(False if bad else True if observed else None, said, fault)
