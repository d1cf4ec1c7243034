"""Finds the one fault that explains best how the rows of a file differ from what is expected.

A row's time over the expected one is a number near 1 times an error whose size is known by concept
(model_error.toml), and which rows of one kernel share in part. A fault makes rows longer by what
its parts take of them (parts.py). Each fault is tried with every factor; the one that makes the
rows most likely is named, if it beats "no fault" by far enough.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.results.baselines import modelled_run, with_limits
from gpubench_reports.results.clock import reference_clock
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis import evidence, shapes
from gpubench_reports.rules.diagnosis.parts import Shares, shares
from gpubench_reports.rules.model_error import sigma_of

_COARSE = np.geomspace(1.03, 40, 24)  # factors that are tried, and then around the best of them
_FINE = np.geomspace(0.88, 1.14, 9)
_FREEDOM = 4.0  # of the errors' t distribution: a row may be far off
_BIAS = 0.08  # all modelled rows may be off together, by the logarithm
# The parts of a concept's error that the rows of a kernel share, and that each has of its own.
_SHARED, _OWN = 0.8, 0.6
_CLEAR = 9.0  # what a fault must gain over none, as a logarithm of odds, unless faults.toml says
_WITH_EVIDENCE = 3.0  # the same where the file has evidence for it
_EVIDENCE = 6.0  # what evidence adds, unless faults.toml says
_OF_A_KERNEL = 3.0  # a priori a single kernel is less often at fault than a part of the machine
_LEAST_ROWS = 12  # fewer say nothing of a device
_LEAST_MEASURED = 1.04  # of a fault, where the reference was measured
_PLACES = ("from", "to")  # arguments that say which GPUs
_LONGER = 1.03  # a row that a fault makes longer
_MEASURED_ALIKE = 0.012  # how far two healthy runs on one device differ, beside their intervals


@dataclass(frozen=True)
class Diagnosis:
    """A fault that would explain the rows of a file.

    fault     its name in faults.toml
    factor    how many times as long its parts take
    says      one line
    evidence  what else in the file speaks for it; empty for none
    look      what shows more, or what to do
    of_device whether a part of the machine is at fault, and not the host, code or its compiler
    rows      the names of those that it makes at least 3 % longer
    gain      how much likelier it is than none, as a logarithm of odds
    """

    fault: str
    factor: float
    says: str
    evidence: str
    look: str
    of_device: bool
    rows: frozenset[str]
    gain: float

    @property
    def sentence(self) -> str:
        return self.says + (f" ({self.evidence})" if self.evidence else "")


@dataclass(frozen=True)
class _Rows:
    table: pd.DataFrame
    shares: Shares
    excess: np.ndarray  # logarithm of the time over the expected one
    bias: float  # by how much all may be off together, by the logarithm
    kernels: "_Kernels"


@dataclass(frozen=True)
class _Kernels:
    """Which rows are of one kernel: a line each, as long as the longest, the rest is masked."""

    row: np.ndarray
    there: np.ndarray
    sigma: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame, sigma: np.ndarray) -> "_Kernels":
        groups = list(table.groupby(["concept", "kernel"]).indices.values())
        row = np.zeros((len(groups), max(map(len, groups))), dtype=int)
        there = np.zeros(row.shape, dtype=bool)
        for line, rows in enumerate(groups):
            row[line, : len(rows)] = rows
            there[line, : len(rows)] = True
        return cls(row, there, sigma[row])

    @cached_property
    def counts(self) -> np.ndarray:
        found: np.ndarray = self.there.sum(axis=1)
        return found

    @cached_property
    def shared_sigma(self) -> np.ndarray:
        return _SHARED * self.medians(self.sigma)

    def medians(self, values: np.ndarray) -> np.ndarray:
        """Medians per kernel: `values` are (..., kernel, row of it), the result (..., kernel)."""
        ordered = np.sort(np.where(self.there, values, np.inf), axis=-1)
        lines = np.arange(len(self.counts))
        low, high = (self.counts - 1) // 2, self.counts // 2
        found: np.ndarray = (ordered[..., lines, low] + ordered[..., lines, high]) / 2
        return found


@cache
def _faults() -> dict[str, Any]:
    path = files("gpubench_reports.rules.diagnosis").joinpath("faults.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def diagnose(
    result: ResultFile, reference: ResultFile | None = None, same_program: bool = False
) -> list[Diagnosis]:
    """What may be wrong, the likeliest first; empty where nothing is clear.

    Expected are the times of `reference`, a run on the same kind of device and maybe of the same
    build, or the prediction in `result`'s own rows. A modelled file has no fault.
    """
    if result.context.modelled and reference is None:
        return []
    result, reference = with_limits(result), reference and with_limits(reference)
    table = _expected(result, reference)
    if len(table) < _LEAST_ROWS:
        return []
    rows = _rows(table, reference)
    clock = reference_clock(result)
    found: list[Diagnosis] = []
    (none,) = _likelihoods(rows, np.ones((1, len(table))))
    for fault in _faults()["faults"]:
        shown = _evidence(fault, "evidence", result, clock)
        if "supposes" in fault and not _evidence(fault, "supposes", result, clock):
            continue
        if same_program and fault.get("build"):
            continue
        least = fault["least"] if reference is None else min(fault["least"], _LEAST_MEASURED)
        clear = _WITH_EVIDENCE if shown else fault.get("clear", _CLEAR)
        tried = [
            (_tried(fault, name, _best(fault, shape, rows, none), shown), name)
            for name, shape in _shapes(fault, rows, result)
        ]
        fit = [t for t in tried if t[0].factor >= least and t[0].rows and t[0].gain >= clear]
        if fit:
            best, name = max(fit, key=lambda t: t[0].gain)
            if len(fit) > 1 and "several" in fault:
                best = replace(best, says=fault["several"].format(_times(best.factor), **name))
            found.append(best)
    return sorted(found, key=lambda one: -one.gain)


def _tried(
    fault: dict[str, Any],
    name: dict[str, str],
    best: tuple[float, float, frozenset[str]],
    shown: str,
) -> Diagnosis:
    gain, factor, slower = best
    words = fault["says"].format(_times(factor), **name)
    gain += fault.get("gain", _EVIDENCE) if shown else 0.0
    look, of_device = fault["look"], "of" not in fault
    return Diagnosis(fault["name"], factor, words, shown, look, of_device, slower, gain)


def why_changed(before: ResultFile, after: ResultFile) -> list[Diagnosis]:
    """What would explain how `after` differs from `before`; empty for another device or mode, and
    where one is modelled and the other measured."""
    a, b = before.context, after.context
    alike = (a.device_kind, a.device, a.mode) == (b.device_kind, b.device, b.mode)
    return diagnose(after, before, a.same_program(b)) if alike else []


def _times(factor: float) -> str:
    return f"{factor:.2f} times"


def _expected(result: ResultFile, reference: ResultFile | None) -> pd.DataFrame:
    """The rows with a time and an expected one, in the order in which they ran."""
    ok = result.ok.copy()
    if reference is None:
        ok["expected"] = ok["model_seconds"]
        shipped = modelled_run(result.context.device, result.context.mode)
        if ok["expected"].isna().all() and shipped:
            return _expected(result, shipped)
        ok["known"] = 0.0
    else:
        theirs = reference.ok.drop_duplicates("name").set_index("name")
        ok["expected"] = ok["name"].map(theirs["seconds"])
        width = theirs["ci_high_seconds"] / theirs["ci_low_seconds"]
        ok["known"] = np.log(ok["name"].map(width)).fillna(0.0)
        # Shares of its parts are those of the healthy run, where it has any.
        for column in ("terms", "label", "raw"):
            mine, other = ok[column], ok["name"].map(theirs[column])
            ok[column] = other.where(other.map(bool) & other.notna(), mine)
    if not ok.empty:
        _expect_alike(ok)
    return ok[(ok["expected"] > 0) & (ok["seconds"] > 0)].reset_index(drop=True)


def _expect_alike(rows: pd.DataFrame) -> None:
    """Where nobody says what a pair of GPUs should take, as long as the others in the middle."""

    def work(arguments: dict[str, Any]) -> str:
        rest = {k: v for k, v in arguments.items() if k not in _PLACES}
        return f"{sorted(rest.items())} {arguments['from'] == arguments['to']}"

    pairs = rows[rows["arguments"].map(lambda a: "from" in a and "to" in a)]
    if pairs["expected"].isna().any():
        alike = pairs.groupby(["concept", "kernel", pairs["arguments"].map(work)])["seconds"]
        unknown = pairs.index[pairs["expected"].isna()]
        rows.loc[unknown, "expected"] = alike.transform("median")[unknown]


def _rows(table: pd.DataFrame, reference: ResultFile | None) -> _Rows:
    own = np.log(table["ci_high_seconds"] / table["ci_low_seconds"]).fillna(0.0) / 4
    if reference is None or reference.context.modelled:
        classes = zip(table["concept"], table["kernel"], strict=True)
        sigma = np.hypot([sigma_of(concept, kernel) for concept, kernel in classes], own)
        bias = _BIAS
    else:
        bias = _MEASURED_ALIKE
        sigma = np.sqrt(_MEASURED_ALIKE**2 + own**2 + (table["known"] / 4) ** 2)
    return _Rows(
        table,
        shares(table),
        np.log(table["seconds"] / table["expected"]).to_numpy(dtype=float),
        bias,
        _Kernels.of(table, np.asarray(sigma, dtype=float)),
    )


def _likelihoods(rows: _Rows, slowdowns: np.ndarray) -> np.ndarray:
    """Logarithms, but for a constant, of each line of (guess, row). All rows may be off by a little
    together, those of a kernel by more, and each row by itself."""
    left = rows.excess - np.log(slowdowns)
    left -= np.clip(np.median(left, axis=1, keepdims=True), -rows.bias, rows.bias)
    kernels = rows.kernels
    mine = left[:, kernels.row]
    # As much of the middle as so many rows are evidence for.
    trust = kernels.counts / (kernels.counts + (_OWN / _SHARED) ** 2)
    shared = kernels.medians(mine) * trust
    own = _surprise((mine - shared[..., None]) / (_OWN * kernels.sigma))[:, kernels.there]
    found: np.ndarray = -own.sum(axis=1) - _surprise(shared / kernels.shared_sigma).sum(axis=1)
    return found


def _surprise(z: np.ndarray) -> np.ndarray:
    found: np.ndarray = (_FREEDOM + 1) / 2 * np.log1p(z * z / _FREEDOM)
    return found


def _best(
    fault: dict[str, Any], shape: shapes.Shape, rows: _Rows, none: float
) -> tuple[float, float, frozenset[str]]:
    """How much likelier the rows are with the fault than without, by which factor, and which rows
    it makes longer."""
    prior = _OF_A_KERNEL if fault.get("kind") == "kernel" else 0.0

    def best_of(factors: np.ndarray) -> tuple[float, float, frozenset[str]]:
        slowdowns = np.array([shape(float(factor)) for factor in factors])
        gains = _likelihoods(rows, slowdowns) - none - prior
        # A part that limits no row cannot be seen: only an absurd factor would make it matter.
        gains[slowdowns.max(axis=1) < np.sqrt(factors)] = -np.inf
        best = int(np.argmax(gains))
        longer = rows.table["name"][slowdowns[best] > _LONGER]
        return float(gains[best]), float(factors[best]), frozenset(longer)

    _, coarse, _ = best_of(_COARSE)
    return best_of(coarse * _FINE)


def _shapes(fault: dict[str, Any], rows: _Rows, result: ResultFile) -> shapes.Named:
    if "kind" in fault:
        yield from shapes.BY_KIND[fault["kind"]](rows.table, result)
    else:
        yield {}, shapes.of_parts(rows.shares, fault["parts"])


def _evidence(fault: dict[str, Any], key: str, result: ResultFile, clock: float) -> str:
    return evidence.BY_NAME[fault[key]](result, clock) if key in fault else ""


def names() -> Iterable[str]:
    """Names of all faults, as faults.toml lists them."""
    return [fault["name"] for fault in _faults()["faults"]]
