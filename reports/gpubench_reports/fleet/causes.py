"""The likely cause of a slow GPU, node or rack: which fault would explain how its rows differ from
its peers'.

The rules are those of one device's diagnosis (rules/diagnosis). What each row depends on comes from
the modelled run of the same device; where there is none, no cause is named.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from gpubench_reports.common.units import si
from gpubench_reports.results.baselines import baseline, baselines
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import diagnose

_LOWER = 0.985  # a clock below this share of its peers' is evidence
_HOTTER = 8.0  # degrees above its peers
_THROTTLED = 0.1  # of the rows


@dataclass(frozen=True)
class Times:
    """Of some rows, by name: the time, and the GPU's state meanwhile. NaN where nobody knows."""

    names: list[str]
    seconds: np.ndarray
    clock_hz: np.ndarray
    temperature_c: np.ndarray
    throttled: np.ndarray


@dataclass(frozen=True)
class Cause:
    """In words; empty where none is clear. `look` says what shows more, or what to do."""

    says: str = ""
    evidence: str = ""
    look: str = ""


def labels_of(device: str, names: list[str]) -> list[str]:
    """What limits each row on that device, by its modelled run; empty where that is not known."""
    if device not in baselines():
        return [""] * len(names)
    known = dict(zip(baseline(device).ok["name"], baseline(device).ok["label"], strict=True))
    return [known.get(name, "") for name in names]


def cause_of(device: str, own: Times, peers: Times, state: dict[str, object]) -> Cause:
    """Why `own` is slower than `peers`: the same rows, at the peers' medians."""
    evidence = _evidence(own, peers)
    if device not in baselines():
        return Cause(evidence=evidence)
    found = diagnose(
        _as_result(baseline(device), own, state), _as_result(baseline(device), peers, {})
    )
    if not found:
        return Cause(evidence=evidence)
    best = found[0]
    shown = "; ".join(dict.fromkeys(filter(None, (best.evidence, evidence))))
    return Cause(best.says, shown, best.look)


def _as_result(modelled: ResultFile, times: Times, state: dict[str, object]) -> ResultFile:
    """A result file with the rows of a modelled run, and these times."""
    number = {name: at for at, name in enumerate(times.names)}
    rows = modelled.ok[modelled.ok["name"].isin(number)]
    at = rows["name"].map(number).to_numpy()
    rows = rows.assign(
        seconds=times.seconds[at],
        sm_clock_hz=times.clock_hz[at],
        temperature_c=times.temperature_c[at],
        throttled=times.throttled[at],
        ci_low_seconds=np.nan,
        ci_high_seconds=np.nan,
    )
    context = replace(modelled.context, device_kind="cuda", device_state=state)
    return ResultFile(modelled.path, context, pd.DataFrame(rows[rows["seconds"] > 0]))


def _evidence(own: Times, peers: Times) -> str:
    """What the GPU's state says, beside that of its peers."""
    found = []
    clock, usual = _median(own.clock_hz), _median(peers.clock_hz)
    if clock < _LOWER * usual:
        found.append(f"its SM clock is {si(clock, 'Hz')}, that of its peers {si(usual, 'Hz')}")
    heat, usual = _median(own.temperature_c), _median(peers.temperature_c)
    if heat > usual + _HOTTER:
        found.append(f"it is at {heat:.0f} °C, its peers at {usual:.0f} °C")
    throttled = np.nan_to_num(own.throttled).mean() if len(own.throttled) else 0.0
    if throttled > _THROTTLED:
        found.append(f"throttled in {throttled:.0%} of the rows")
    return "; ".join(found)


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")
