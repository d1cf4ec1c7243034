"""The likely cause of a slow GPU, node or rack: which fault would explain how its rows differ from
its peers'.

The rules are those of one device's diagnosis (rules/diagnosis). What each row depends on comes from
the modelled run of the same device in the same mode; where there is none, no cause is named.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from gpubench_reports.results.baselines import modelled_run
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import diagnose
from gpubench_reports.rules.diagnosis.evidence import low_clock_of

_LOWER = 0.985  # a clock below this share of its peers' is evidence: they say what it should be
_HOTTER = 8.0  # degrees above its peers


@dataclass(frozen=True)
class Times:
    """Times of some rows, by name, and the GPU's state meanwhile. NaN where nobody knows."""

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


def labels_of(device: str, mode: str, names: list[str]) -> list[str]:
    """What limits each row on that device, by its modelled run; empty where that is not known."""
    modelled = modelled_run(device, mode)
    known = {row["name"]: row["label"] for row in modelled.timed} if modelled else {}
    return [known.get(name, "") for name in names]


def cause_of(device: str, mode: str, own: Times, peers: Times, state: dict[str, object]) -> Cause:
    """Why `own` is slower than `peers`: the same rows, at the peers' medians."""
    told = Cause()
    if modelled := modelled_run(device, mode):
        healthy = _as_result(modelled, peers, {})
        # Peers run one program (result_files.py).
        for best in diagnose(_as_result(modelled, own, state), healthy, same_program=True)[:1]:
            told = Cause(best.says, best.evidence, best.look)
    seen = told.evidence or low_clock_of(pd.DataFrame(_state(own)), _median(peers.clock_hz), _LOWER)
    return replace(
        told, evidence="; ".join(filter(None, (seen, _hotter(own, peers), _shared(state))))
    )


def _shared(state: dict[str, object]) -> str:
    processes = state.get("processes")
    many = isinstance(processes, int) and processes > 1
    return f"{processes} processes computed on it, ours included" if many else ""


def _as_result(modelled: ResultFile, times: Times, state: dict[str, object]) -> ResultFile:
    """A result file with the rows of a modelled run, and these times."""
    number = {name: at for at, name in enumerate(times.names)}
    records = [
        row
        | {"seconds": times.seconds[at], "ci_low_seconds": math.nan, "ci_high_seconds": math.nan}
        | {column: values[at] for column, values in _state(times).items()}
        for row in modelled.timed
        if (at := number.get(row["name"])) is not None and times.seconds[at] > 0
    ]
    context = replace(modelled.context, device_kind="cuda", device_state=state)
    return ResultFile(modelled.path, context, records)


def _state(times: Times) -> dict[str, np.ndarray]:
    """The state of the GPU by the names that a result's rows have for it."""
    return {
        "sm_clock_hz": times.clock_hz,
        "temperature_c": times.temperature_c,
        "throttled": times.throttled,
    }


def _hotter(own: Times, peers: Times) -> str:
    by = _median(own.temperature_c) - _median(peers.temperature_c)
    return f"{by:.0f} °C hotter than its peers" if by > _HOTTER else ""


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")
