"""Compares two result files row by row. Numbers only; compare_chart draws them."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.json_text import json_text
from gpubench_reports.results.doubts import doubtful, doubts_line
from gpubench_reports.results.quantities import TIME, gain
from gpubench_reports.results.reader import ResultFile

_WORTH_A_LINE = 0.01  # by the logarithm of the ratio
_MEASURED = ("ci_low_seconds", "ci_high_seconds")
# What two modelled times may differ by and be the same: the model's threads add up in any order,
# and the runs that the package ships have few digits.
_ROUNDED = 1.001
_LETTERS = ("A", "B")


@dataclass(frozen=True)
class Comparison:
    """`rows`, one a benchmark that both files have, in A's order, with the columns

    name, concept, kernel, headline   (the figure compared), its unit, what is better of it
    a, b      the figure in either file [its SI unit]
    ratio     how many times as fast B is as A: B / A of a rate, A / B of a time or a latency
    low, high 95 % interval of the ratio; NaN unless both rows have intervals. Between two modelled
              files only rounding is in it, because a model has no noise; between a measured and a
              modelled one, the model's error
    verdict   "faster", "slower", "same" (the interval holds 1) or "unknown" (no interval)

    `warnings` says what makes the files unlike, and `doubts` which of the rows that changed were
    held back or did not converge in either; `only_a`, `only_b` are (name, why) of rows that have a
    time in one file only, and `failed` of rows that failed in B and have no time in A.
    """

    a: ResultFile
    b: ResultFile
    rows: pd.DataFrame
    warnings: list[str]
    doubts: list[str]
    only_a: list[tuple[str, str]]
    only_b: list[tuple[str, str]]
    failed: list[tuple[str, str]]

    @property
    def cautions(self) -> list[str]:
        """What to know before a verdict is trusted."""
        return [*self.warnings, *self.doubts]

    @property
    def mixed(self) -> bool:
        """Whether one file is modelled and the other measured."""
        return self.a.context.device_kind != self.b.context.device_kind

    @property
    def modelled(self) -> bool:
        """Whether both are, so that an interval says nothing."""
        return self.a.context.modelled and self.b.context.modelled


def compare(a: ResultFile, b: ResultFile) -> Comparison:
    """Compares B with A. Raises ReportError when they have no row in common."""
    rows_a = a.ok.set_index("name")
    rows_b = b.ok.set_index("name")
    common = rows_a.index[rows_a.index.isin(rows_b.index)]
    if common.empty:
        raise ReportError(b.path, f"has no row in common with {a.path}")
    left, right = rows_a.loc[common], rows_b.loc[common]
    # Where the two are judged by different figures, time is what they share.
    alike = (left["headline"] == right["headline"]) & (left["better"] == right["better"])
    agree = alike & (left["headline"] != TIME.column)
    value_a = np.where(agree, left["value"], left["seconds"])
    value_b = np.where(agree, right["value"], right["seconds"])
    better = np.where(agree, left["better"], "lower")
    ratio = np.array(list(map(gain, value_a, value_b, better)))
    low, high = ratio_interval(ratio, *_reach(left, a, b), *_reach(right, b, a))
    known = np.isfinite(low) & np.isfinite(high)
    rows = pd.DataFrame(
        {
            "name": list(common),
            "concept": left["concept"].to_numpy(),
            "kernel": left["kernel"].to_numpy(),
            "headline": np.where(agree, left["headline"], TIME.column),
            "unit": np.where(agree, left["unit"], TIME.unit),
            "better": better,
            "a": value_a,
            "b": value_b,
            "ratio": ratio,
            "low": low,
            "high": high,
            "verdict": np.select(
                [~known, low > 1, high < 1], ["unknown", "faster", "slower"], "same"
            ),
        }
    )
    alone = _only(a, b), _only(b, a), _failed(a, b)
    return Comparison(a, b, rows, differences(a, b), _doubts(a, b, rows), *alone)


def _doubts(a: ResultFile, b: ResultFile, rows: pd.DataFrame) -> list[str]:
    """What may have changed rows that neither the program nor the device did. A modelled row has
    no clock, and no noise that it could converge in."""
    moved = set(changed(rows)["name"])
    found = []
    for letter, file in zip(_LETTERS, (a, b), strict=True):
        used = [r for r in file.timed if r["name"] in moved and not file.context.modelled]
        if line := doubts_line(doubtful(file, used), len(used), "that changed"):
            found.append(f"{letter}: {line}")
    return found


def _reach(
    rows: pd.DataFrame, file: ResultFile, other: ResultFile
) -> tuple[np.ndarray, np.ndarray]:
    """How many times as long as the lower end of its interval each row's time is, and how many
    times as long as that time the upper end."""
    if file.context.modelled and other.context.modelled:
        return np.full(len(rows), _ROUNDED), np.full(len(rows), _ROUNDED)
    ends = ("model_low_seconds", "model_high_seconds") if file.context.modelled else _MEASURED
    low, high = (rows[end] for end in ends)
    return (rows["seconds"] / low).to_numpy(), (high / rows["seconds"]).to_numpy()


def changed(rows: pd.DataFrame) -> pd.DataFrame:
    """The faster and slower rows of a comparison, those that changed most first. Rows without an
    interval count if they changed by more than _WORTH_A_LINE."""
    size = rows["ratio"].apply(math.log).abs()
    unknown = (rows["verdict"] == "unknown") & (size > _WORTH_A_LINE)
    found = rows["verdict"].isin(["faster", "slower"]) | unknown
    return rows.loc[size[found].sort_values(ascending=False, kind="stable").index]


def counted(comparison: Comparison) -> tuple[str, str]:
    """How many rows changed and by how much at most, and the row that did: ("4 slower, 0 faster,
    worst -9 %", "stream/copy/n:1"). No row where nothing changed. Rows without an interval are
    counted with the others, and told."""
    moved = changed(comparison.rows)
    slower, faster = moved[moved["ratio"] < 1], moved[moved["ratio"] > 1]
    words = f"{len(slower)} slower, {len(faster)} faster"
    if moved.empty:
        return f"{words} of {len(comparison.rows)} rows", ""
    if unknown := int((moved["verdict"] == "unknown").sum()):
        words += f" ({unknown} without an interval)"
    most, word = (slower, "worst") if len(slower) else (faster, "best")
    row = most.iloc[0]
    return f"{words}, {word} {signed(row['ratio'])}", str(row["name"])


def signed(ratio: float) -> str:
    """A ratio of speeds as what it is more or less: 0.91 is "-9 %"."""
    change = (ratio - 1) * 100
    return f"{round(change, 1 if abs(change) < 10 else 0):+g} %"


def failures(comparison: Comparison, limit: float) -> list[str]:
    """What of B is slower than A by more than `limit`, a fraction, in a line each, worst first: by
    the whole of the interval where there is one. Then what A measured and B did not, and what else
    failed in B."""
    rows = comparison.rows
    best = rows["high"].where(rows["verdict"] != "unknown", rows["ratio"])
    slower = rows[best < 1 - limit].sort_values("ratio", kind="stable")
    lines = [
        f"{name}: {1 - ratio:.1%} slower"
        for name, ratio in zip(slower["name"], slower["ratio"], strict=True)
    ]
    return lines + [f"{name}: {why}" for name, why in comparison.only_a + comparison.failed]


def as_json(comparison: Comparison) -> str:
    """The comparison for other programs; what is not known is null."""
    return json_text(
        {
            "a": comparison.a.path,
            "b": comparison.b.path,
            "warnings": comparison.warnings,
            "doubts": comparison.doubts,
            "rows": comparison.rows,
            "only_a": [{"name": name, "why": why} for name, why in comparison.only_a],
            "only_b": [{"name": name, "why": why} for name, why in comparison.only_b],
            "failed": [{"name": name, "why": why} for name, why in comparison.failed],
        }
    )


def ratio_interval(
    ratio: np.ndarray,
    a_down: np.ndarray,
    a_up: np.ndarray,
    b_down: np.ndarray,
    b_up: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval of a ratio of speeds B / A from the intervals of the two times.

    All arguments are factors: the median time is `down` times the interval's lower end, and the
    upper end is `up` times the median. The deviations add in quadrature on the logarithmic scale
    (MOVER: Donner and Zou, "Closed-form confidence intervals for functions of the normal mean
    and standard deviation", 2012), which is narrower than pairing the worst ends and right when
    the two files are independent.
    """
    # B is as slow, and A as fast, as their intervals allow at the lower end of the ratio.
    below = np.hypot(np.log(b_up), np.log(a_down))
    above = np.hypot(np.log(b_down), np.log(a_up))
    return ratio * np.exp(-below), ratio * np.exp(above)


def differences(a: ResultFile, b: ResultFile, names: tuple[str, str] = _LETTERS) -> list[str]:
    """What a reader must know before trusting a ratio of these two files, in plain sentences.
    `names`: what the reader knows the files by."""
    left, right = a.context, b.context
    first, second = names
    found = []
    if left.device_kind != right.device_kind:
        found.append(
            f"{first} is {left.verb} and {second} is {right.verb}: "
            "the ratios are errors of the model, not speed-ups"
        )
    elif left.modelled:
        who = "both files" if names == _LETTERS else f"{first} and {second}"
        found.append(f"{who} are modelled: the ratios are predictions, nothing was measured")
    if left.device != right.device:
        titles = (left.device_title, right.device_title)
        found.append(f"the devices differ: {_each_is(names, titles)}")
    if left.imported_from != right.imported_from:
        programs = [context.imported_from or "gpubench" for context in (left, right)]
        found.append(f"the programs differ: {first} is by {programs[0]}, {second} by {programs[1]}")
    if left.mode != right.mode:
        modes = (left.mode or "(none)", right.mode or "(none)")
        found.append(f"the modes differ: {_each_is(names, modes)}")
    for name, context in ((first, left), (second, right)):
        found += [f"{name}: {sentence}" for sentence in context.reservations]
    return found


def _each_is(names: tuple[str, str], values: tuple[str, str]) -> str:
    """What each file is; a name that says it already stands for itself."""
    pairs = zip(names, values, strict=True)
    return ", ".join(
        name if f" {value} " in f" {name} " else f"{name} is {value}" for name, value in pairs
    )


def other_versions(a: ResultFile, b: ResultFile) -> list[str]:
    """What was not the same when B ran, and may be why it differs: "driver 580.65, was 570.1"."""
    left, right = a.context, b.context
    pairs = (
        ("driver", left.driver_version, right.driver_version),
        ("CUDA", left.cuda_version, right.cuda_version),
        ("compiler", left.compiler, right.compiler),
        ("compiler flags", left.compiler_flags, right.compiler_flags),
        ("commit", left.git_commit[:10], right.git_commit[:10]),
    )
    return [f"{what} {now}, was {was}" for what, was, now in pairs if was and now and was != now]


def look_first(a: ResultFile, b: ResultFile) -> str:
    """The beginning of a list of what may have made B slow: what is known to be otherwise."""
    kinds = [words.split(",")[0].rsplit(" ", 1)[0] for words in other_versions(a, b)]
    return f"first what differs between the runs ({', '.join(kinds)}), then " if kinds else ""


def _only(here: ResultFile, there: ResultFile) -> list[tuple[str, str]]:
    status = {row["name"]: (row["status"], row["reason"]) for row in there.records}
    found = []
    for row in here.timed:
        state, why = status.get(row["name"], ("absent", ""))
        if state != "ok":
            found.append((row["name"], f"{state} there: {why}" if why else f"{state} there"))
    return found


def _failed(a: ResultFile, b: ResultFile) -> list[tuple[str, str]]:
    status = {row["name"]: row["status"] for row in a.records}
    words = {"failed": "in both files", "skipped": "in B, skipped in A"}
    return [
        (row["name"], f"failed {words.get(was, 'in B, absent in A')}: {row['reason']}")
        for row in b.records
        if row["status"] == "failed" and (was := status.get(row["name"], "")) != "ok"
    ]
