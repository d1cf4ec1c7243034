"""Verdicts in words: which wall binds a row, how far it is from what its pattern allows, why, and
what to change. The words and limits are data (verdicts.toml); this module only applies them.
"""

import fnmatch
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from gpubench_reports.errors import ReportError
from gpubench_reports.figures import BY_COLUMN, with_headline
from gpubench_reports.ranges import Range
from gpubench_reports.reader import COUNTERS, ResultFile
from gpubench_reports.units import si

EXPECTED, LOW, HIGH, UNGRADED = "as expected", "low", "suspiciously high", "not graded"
_GRADES = {"low": LOW, "high": HIGH}
_DERIVED = ("clock_share", "interval_share", "dram_share", "requests_over_law", "overhead_share",
            "moved_over_useful", "zeros")  # fmt: skip
_TESTS = {
    "above": lambda value, limit: value > limit,
    "below": lambda value, limit: value < limit,
    "equals": lambda value, limit: value == limit,
}


@dataclass(frozen=True)
class Cause:
    """A reason for a grade: `seen` in the row's own figures, which `evidence` quotes, or only usual
    (and not ruled out by any)."""

    says: str
    change: str
    seen: bool
    evidence: str


@dataclass(frozen=True)
class Verdict:
    """What the rules say of one row.

    wall       a name of `[[walls]]`; empty where nothing says what binds the row
    share      measured over what its pattern allows; NaN where nothing says what that is
    yardstick  what it was compared with, in words
    severity   1 at the edge of what is expected, more beyond; NaN where not graded
    """

    name: str
    label: str
    wall: str
    grade: str
    share: float
    yardstick: str
    severity: float
    causes: list[Cause] = field(default_factory=list)
    change: str = ""
    no_help: str = ""

    @property
    def sentence(self) -> str:
        """Distance and wall in one sentence."""
        bound = f"bound by {self.label} ({self.wall})" if self.wall else "bound by nothing known"
        if math.isnan(self.share):
            return f"{bound}; nothing says what its pattern allows"
        return f"{self.share * 100:.3g} % of {self.yardstick}, {bound}"

    @property
    def why(self) -> str:
        """The causes that the row's own figures show; else the first usual one; else the advice."""
        seen = [cause for cause in self.causes if cause.seen]
        if seen:
            return "; ".join(f"{cause.says} ({cause.evidence})" for cause in seen)
        if self.causes:
            return f"nothing in the row's figures shows why; most often {self.causes[0].says}"
        return wall_means(self.wall) if self.wall else "no figure says why"


@cache
def rules() -> dict[str, Any]:
    """The rules of verdicts.toml, checked: a condition on a figure that no row has is an error."""
    path = files("gpubench_reports").joinpath("verdicts.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    if found.get("schema") != 1:
        raise ReportError(path, "must have schema 1")
    for group in ("causes", "advice"):
        for rule in found[group]:
            for key in ("when", "with"):
                if key in rule:
                    _check_condition(path, rule[key])
    return found


def _check_condition(path: object, condition: dict[str, Any]) -> None:
    if condition.get("key") not in (*COUNTERS, *_DERIVED):
        raise ReportError(path, f"no row has a figure {condition.get('key')!r}")
    if len(condition) != 2 or not any(test in condition for test in _TESTS):
        raise ReportError(path, f"a condition needs a key and one of {', '.join(_TESTS)}")


def wall_of(label: str) -> str:
    """The wall of a row with this label; empty if no rule names it."""
    return next((wall["name"] for wall in rules()["walls"] if _matches(label, wall)), "")


def wall_means(name: str) -> str:
    return next((wall["means"] for wall in rules()["walls"] if wall["name"] == name), "")


def judge(result: ResultFile, recorded: Sequence[Range] = ()) -> dict[str, Verdict]:
    """A verdict for every row of `result` that has a time, by name, in the file's order.

    `recorded` are ranges of rows on this device; of another device's file they must not be given.
    """
    rows = result.ok
    if rows.empty:
        return {}
    figures = _with_derived(result, with_headline(rows))
    by_row: dict[str, list[Range]] = {}
    for entry in recorded:
        by_row.setdefault(entry.row, []).append(entry)
    measured = not result.context.modelled
    found = {}
    for record in figures.to_dict("records"):
        found[record["name"]] = _judge(record, by_row.get(record["name"], []), measured)
    return found


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The row farthest beyond what is expected; of rows all as expected the one nearest to being
    low. None where none was graded."""
    graded = [v for v in verdicts if not math.isnan(v.severity)]
    beyond = [v for v in graded if v.grade != EXPECTED]
    below = [v for v in graded if v.share < 1]
    return max(beyond or below or graded, key=lambda v: v.severity, default=None)


def _judge(row: dict[str, Any], recorded: list[Range], measured: bool) -> Verdict:
    label = row["label"]
    wall = wall_of(label)
    share, yardstick, low, high = _yardstick(row, recorded, measured)
    grade, severity = UNGRADED, math.nan
    if not math.isnan(low):
        grade = LOW if share < low else HIGH if share > high else EXPECTED
        # The distance from 1 over the allowed one, as logarithms: half is as far as twice.
        edge = low if share < 1 else high
        allowed = abs(math.log(edge)) if edge > 0 and edge != 1 else math.inf
        severity = abs(math.log(share)) / allowed if allowed < math.inf else 0.0
    change, no_help = _advice(row)
    causes = _causes(row, grade, measured) if grade in (LOW, HIGH) else []
    return Verdict(row["name"], label, wall, grade, share, yardstick, severity, causes, change,
                   no_help)  # fmt: skip


def _yardstick(
    row: dict[str, Any], recorded: list[Range], measured: bool
) -> tuple[float, str, float, float]:
    """(share, yardstick in words, lowest and highest share as expected) by the first that is known:
    what others recorded for this row, its law, the model's prediction, its roof."""
    limits = rules()["limits"]
    for entry in recorded:
        value = row.get(entry.quantity, math.nan)
        if value > 0:
            middle = math.sqrt(entry.low * entry.high)
            better, worse = entry.high / middle, entry.low / middle
            share = value / middle
            if entry.quantity == "seconds":  # less is more
                share, better, worse = 1 / share, 1 / worse, 1 / better
            words = f"what is recorded for it ({entry.source})"
            return share, words, worse * (1 - limits["recorded"]), better * (1 + limits["recorded"])
    ratio = row["law_ratio"]
    if ratio > 0:
        tolerance = row["law_tolerance"] if row["law_tolerance"] > 0 else limits["law"]
        tolerance = min(tolerance, 0.95)
        if row["headline"] == "seconds" and row["law_value"] > 0:  # the law is a time
            ratio = 1 / ratio
        return ratio, "what its law allows", 1 - tolerance, 1 + tolerance
    if measured and row["model_seconds"] > 0:
        share = row["model_seconds"] / row["seconds"]
        tolerance = limits["prediction"]
        return share, "the speed that the model predicts", 1 / (1 + tolerance), 1 / (1 - tolerance)
    if row["roof_fraction"] > 0:
        roof = f"its {row['label']} roof" if row["label"] else "its roof"
        return row["roof_fraction"], roof, limits["roof_low"], limits["roof_high"]
    return math.nan, "", math.nan, math.nan


def _causes(row: dict[str, Any], grade: str, measured: bool) -> list[Cause]:
    """The rules that fit, those seen in the row's figures first; what a figure refutes is left
    out. Of a modelled row only those seen: no clock, neighbour or cable slows a model."""
    found = []
    for rule in rules()["causes"]:
        if _GRADES[rule["grade"]] != grade or not _matches(row["label"], rule):
            continue
        met = _met(row, rule.get("when"))
        if met is False:
            continue
        seen = met is True and "when" in rule
        if not (seen or measured):
            continue
        found.append(
            Cause(rule["says"], rule["change"], seen, _evidence(row, rule) if seen else "")
        )
    return sorted(found, key=lambda cause: not cause.seen)


def _advice(row: dict[str, Any]) -> tuple[str, str]:
    for rule in rules()["advice"]:
        if _matches(row["label"], rule) and all(
            _met(row, rule.get(key)) is True for key in ("when", "with") if key in rule
        ):
            return rule["change"], rule["no_help"]
    return "", ""


def _matches(label: str, rule: dict[str, Any]) -> bool:
    """Whether the rule is about rows with this label; one without labels is about every row."""
    return "labels" not in rule or any(fnmatch.fnmatchcase(label, p) for p in rule["labels"])


def _met(row: dict[str, Any], condition: dict[str, Any] | None) -> bool | None:
    """Whether the condition holds; None where the row does not have the figure."""
    if condition is None:
        return True
    value = row.get(condition["key"], math.nan)
    if math.isnan(value):
        return None
    return all(test(value, condition[name]) for name, test in _TESTS.items() if name in condition)


def _evidence(row: dict[str, Any], rule: dict[str, Any]) -> str:
    key = rule["when"]["key"]
    value = row[key]
    unit = {"temperature_c": " °C", "local_bytes": " bytes"}.get(key, "")
    if key.endswith("_share"):
        return f"{key.removesuffix('_share').replace('_', ' ')} {value * 100:.3g} %"
    return f"{key.removesuffix('_c').replace('_', ' ')} {value:.4g}{unit}"


def _with_derived(result: ResultFile, rows: pd.DataFrame) -> pd.DataFrame:
    """`rows` with the figures that only rules ask for, NaN where they are not known."""
    nan = math.nan
    rows = rows.copy()
    dram = [r.value for r in result.context.roofs if r.name == "dram"]
    rows["clock_share"] = rows["sm_clock_hz"] / rows["sm_clock_hz"].max()
    rows["interval_share"] = (rows["ci_high_seconds"] - rows["ci_low_seconds"]) / rows["seconds"]
    rows["dram_share"] = rows["useful_bytes_per_second"] / (max(dram) if dram else nan)
    # What is counted there never was to come from DRAM.
    rows.loc[rows["label"].isin(["shared", "l1", "link", "network"]), "dram_share"] = nan
    requests = rows["wavefronts_per_request"].fillna(rows["sectors_per_request"])
    rows["requests_over_law"] = requests / rows["law_per_request"]
    rows["moved_over_useful"] = rows["moved_bytes_per_second"] / rows["useful_bytes_per_second"]
    launch = [terms.get("launch", nan) for terms in rows["terms"]]
    rows["overhead_share"] = pd.Series(launch, index=rows.index) / rows["seconds"]
    rows["zeros"] = [
        1.0 if any(value in ("zero", "zeros") for value in arguments.values()) else nan
        for arguments in rows["arguments"]
    ]
    return rows


def headline_text(row: Any) -> str:
    """The figure that a row of with_headline() is judged by, with its unit: "4.11 TB/s"."""
    return si(row["value"], BY_COLUMN[row["headline"]].unit)


@dataclass(frozen=True)
class Health:
    """What a file says about the state of its device, in sentences; `well` is False if one is bad
    and None where nothing was observed."""

    well: bool | None
    sentences: list[str]


def health(result: ResultFile) -> Health:
    """Clock, throttling, temperature, convergence and failures of a file."""
    rows, ok = result.rows, result.ok
    limits = rules()["limits"]
    said, bad = [], False
    failed = int((rows["status"] == "failed").sum())
    if failed:
        said.append(f"{_rows(failed)} gave wrong results or could not run")
        bad = True
    shaky = int((ok["converged"] == 0).sum())
    if shaky:
        said.append(f"{_rows(shaky)} did not converge")
        bad = True
    if result.context.modelled:
        said.append("nothing was measured: a modelled device is never hot and never throttled")
        return Health(False if bad else None, said)
    throttled = int((ok["throttled"] > 0).sum())
    if throttled:
        said.append(f"the clock was throttled in {_rows(throttled)}")
        bad = True
    elif ok["throttled"].notna().any():
        said.append("no row was throttled")
    clock = ok["sm_clock_hz"].dropna()
    if not clock.empty:
        said.append(f"SM clock {si(clock.min(), 'Hz')} to {si(clock.max(), 'Hz')}")
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
    return Health(False if bad else True if observed else None, said)


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
