"""Verdicts in words: which wall binds a row, how far it is from what its pattern allows, why, and
what to change. The words and limits are data (verdicts.toml); this module only applies them.
"""

import fnmatch
import math
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.results.headlines import BY_COLUMN, unit_of, with_headline
from gpubench_reports.results.reader import COUNTERS, PROVENANCES_OF_RUN, ResultFile

EXPECTED, LOW, HIGH, UNGRADED = "as expected", "low", "suspiciously high", "not graded"
_GRADES = {"low": LOW, "high": HIGH}
_DERIVED = (
    "clock_share",
    "interval_share",
    "dram_share",
    "requests_over_law",
    "overhead_share",
    "moved_over_useful",
    "claimed_over_true",
    "half_over_size",
    "tile_elements",
    "wave_share",
    "zeros",
)
_CLAIMED = ("items_per_second", "useful_bytes_per_second", "flops_per_second")
_LAW, _ROOF = "what its law allows", "its {} roof"  # yardsticks that the run's roofs are part of
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

    label      what bounds it, as the file has it
    bound      the same in words, where a pattern knows more than the label
    shown      the figures that made it fit
    means      what that says of the hardware; empty where nothing says what binds the row
    wall       a name of `[[walls]]`; empty likewise
    share      measured over what its pattern allows; NaN where nothing says what that is
    yardstick  what it was compared with, in words
    expected   the lowest and the highest share as expected
    severity   1 at the edge of what is expected, more beyond; NaN where not graded
    no_grade   why it is not graded; empty where it is
    """

    name: str
    concept: str
    label: str
    bound: str
    shown: str
    means: str
    wall: str
    grade: str
    share: float
    yardstick: str
    expected: tuple[float, float]
    severity: float
    causes: list[Cause] = field(default_factory=list)
    change: str = ""
    no_help: str = ""
    no_grade: str = ""

    @property
    def sentence(self) -> str:
        """Distance and wall in one sentence."""
        within = "; ".join(filter(None, (self.wall, self.shown)))
        bound = f"bound by {self.bound} ({within})" if self.wall else "bound by nothing known"
        if math.isnan(self.share):
            return f"{bound}; {self.no_grade}"
        return f"{self.share * 100:.3g} % of {self.yardstick}, {bound}"

    @property
    def expectation(self) -> str:
        """Between what shares the row is as expected; empty where it is not graded."""
        if self.grade == UNGRADED:
            return ""
        low, high = (f"{share * 100:.3g}" for share in self.expected)
        return f"{low} to {high} % is as expected"

    @property
    def why(self) -> str:
        """The causes that the row's own figures show; else the first usual one; else the advice."""
        seen = [cause for cause in self.causes if cause.seen]
        if seen:
            return "; ".join(
                cause.says if cause.evidence == self.shown else f"{cause.says} ({cause.evidence})"
                for cause in seen
            )
        if self.causes:
            return f"nothing in the row's figures shows why; most often {self.causes[0].says}"
        return self.means or "no figure says why"

    @property
    def next_steps(self) -> list[str]:
        """What to do about the causes that are seen; else about the first usual one."""
        seen = [cause.change for cause in self.causes if cause.seen]
        return seen or [cause.change for cause in self.causes[:1]]


@cache
def rules() -> dict[str, Any]:
    """The rules of verdicts.toml, checked: a condition on a figure that no row has is an error."""
    path = files("gpubench_reports.rules").joinpath("verdicts.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    if found.get("schema") != 1:
        raise ReportError(path, "must have schema 1")
    known = {*COUNTERS, *_DERIVED, *found["own"]}
    walls = {wall["name"] for wall in found["walls"]}
    for group in ("patterns", "causes", "advice"):
        for rule in found[group]:
            for condition in (*_conditions(rule, "when"), *_conditions(rule, "unless")):
                _check_condition(path, condition, known)
            if group == "patterns" and rule["wall"] not in walls:
                raise ReportError(path, f"no wall is called {rule['wall']!r}")
    return found


def _conditions(rule: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A rule's conditions under `key`: one, several, or none."""
    found = rule.get(key, [])
    return found if isinstance(found, list) else [found]


def _check_condition(path: object, condition: dict[str, Any], known: set[str]) -> None:
    if condition.get("key") not in known:
        raise ReportError(path, f"no row has a figure {condition.get('key')!r}")
    if len(condition) != 2 or not any(test in condition for test in _TESTS):
        raise ReportError(path, f"a condition needs a key and one of {', '.join(_TESTS)}")


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
    unproven = _unproven_roofs(result)
    found = {}
    for record in figures.to_dict("records"):
        verdict = _judge(record, by_row.get(record["name"], []), measured)
        by_roof = verdict.yardstick in (_LAW, _ROOF.format(verdict.label))
        if verdict.grade == LOW and by_roof and verdict.label in unproven:
            verdict = replace(
                verdict,
                grade=UNGRADED,
                severity=math.nan,
                causes=[],
                no_grade=_no_roof_of_this_run(verdict),
            )
        found[record["name"]] = verdict
    return found


def _unproven_roofs(result: ResultFile) -> set[str]:
    """Names of roofs that only a data sheet states, or that a measured run has to assume: a data
    sheet promises more than any pattern gets, so that a row below is not known to be slow. The
    model gets what its device file assumes."""
    stated = {roof.name: set[str]() for roof in result.context.roofs}
    for roof in result.context.roofs:
        stated[roof.name].add(roof.provenance)
    unproven = {"data_sheet"} if result.context.modelled else {"data_sheet", "assumed"}
    return {name for name, provenances in stated.items() if provenances <= unproven}


def _no_roof_of_this_run(verdict: Verdict) -> str:
    return (
        f"{verdict.share:.0%} of {verdict.yardstick} by the device file's {verdict.label}; no row "
        "of this run measured what can be had of it (those of stream do)"
    )


def worst(verdicts: Iterable[Verdict], count: int = 1) -> list[Verdict]:
    """The rows farthest beyond what is expected, then those as expected that are the nearest to
    being low, one a concept and at most `count`. Empty where none was graded."""
    graded = [v for v in verdicts if not math.isnan(v.severity)]
    below = any(v.share < 1 for v in graded)

    def order(verdict: Verdict) -> tuple[bool, bool, float]:
        expected = verdict.grade == EXPECTED
        return expected, expected and below and verdict.share >= 1, -verdict.severity

    found: dict[str, Verdict] = {}
    for verdict in sorted(graded, key=order):
        found.setdefault(verdict.concept, verdict)
    return list(found.values())[:count]


def _judge(row: dict[str, Any], recorded: list[Range], measured: bool) -> Verdict:
    label = row["label"]
    pattern = _first(row, "patterns")
    share, yardstick, low, high = _yardstick(row, recorded, measured)
    grade, severity = UNGRADED, math.nan
    if not math.isnan(low):
        grade = LOW if share < low else HIGH if share > high else EXPECTED
        # The distance from 1 over the allowed one, as logarithms: half is as far as twice.
        edge = low if share < 1 else high
        allowed = abs(math.log(edge)) if edge > 0 and edge != 1 else math.inf
        severity = abs(math.log(share)) / allowed if allowed < math.inf else 0.0
    causes = _causes(row, grade, measured) if grade in (LOW, HIGH) else []
    by_label = _first(row, "walls")
    advice = pattern or _first(row, "advice")
    return Verdict(
        name=row["name"],
        concept=row["concept"],
        label=label,
        bound=pattern.get("binds", label),
        shown=_evidence(row, pattern),
        means=pattern.get("means", by_label.get("means", "")),
        wall=pattern.get("wall", by_label.get("name", "")),
        grade=grade,
        share=share,
        yardstick=yardstick,
        expected=(low, high),
        severity=severity,
        causes=causes,
        change=advice.get("change", ""),
        no_help=advice.get("no_help", ""),
        no_grade=_no_grade(row, measured) if grade == UNGRADED else "",
    )


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
            if _less_is_more(entry.quantity):
                share, better, worse = 1 / share, 1 / worse, 1 / better
            words = f"what is recorded for it ({entry.source})"
            return share, words, worse * (1 - limits["recorded"]), better * (1 + limits["recorded"])
    ratio = row["law_ratio"]
    if ratio > 0:
        tolerance = row["law_tolerance"] if row["law_tolerance"] > 0 else limits["law"]
        tolerance = min(tolerance, 0.95)
        if _less_is_more(row["headline"]) and row["law_value"] > 0:  # the law is a time
            ratio = 1 / ratio
        return ratio, _LAW, 1 - tolerance, 1 + tolerance
    if measured and row["model_seconds"] > 0:
        share = row["model_seconds"] / row["seconds"]
        tolerance = limits["prediction"]
        return share, "the speed that the model predicts", 1 / (1 + tolerance), 1 / (1 - tolerance)
    if row["roof_fraction"] > 0:
        roof = _ROOF.format(row["label"]) if row["label"] else "its roof"
        return row["roof_fraction"], roof, limits["roof_low"], limits["roof_high"]
    return math.nan, "", math.nan, math.nan


def _less_is_more(quantity: str) -> bool:
    """Whether the quantity is a time, or clocks, and no rate."""
    return quantity in BY_COLUMN and not BY_COLUMN[quantity].is_rate


def _no_grade(row: dict[str, Any], measured: bool) -> str:
    """Why nothing says what the row should reach."""
    label = row["label"]
    if not label:
        roof = "nothing says what binds it"
    elif label in rules()["without_roof"]:
        roof = f"{label} has no roof"
    else:
        roof = f"nothing says what share of a {label} roof it should reach"
    prediction = "no prediction" if measured else "the prediction is the result itself"
    return f"no law at this size or shape, nothing recorded, {prediction}, {roof}"


def _causes(row: dict[str, Any], grade: str, measured: bool) -> list[Cause]:
    """The rules that fit, those seen in the row's figures first; what a figure refutes is left
    out. Of a modelled row only those seen: no clock, neighbour or cable slows a model."""
    found = []
    for rule in rules()["causes"]:
        if _GRADES[rule["grade"]] != grade or not _matches(row, rule):
            continue
        met = _met(row, rule)
        if met is False:
            continue
        seen = met is True and "when" in rule
        if not (seen or measured):
            continue
        found.append(
            Cause(rule["says"], rule["change"], seen, _evidence(row, rule) if seen else "")
        )
    return sorted(found, key=lambda cause: not cause.seen)


def _first(row: dict[str, Any], group: str) -> dict[str, Any]:
    """The first rule of the group that fits the row; empty if none does."""
    fitting = (rule for rule in rules()[group] if _matches(row, rule) and _met(row, rule) is True)
    return next(fitting, {})


def _matches(row: dict[str, Any], rule: dict[str, Any]) -> bool:
    """Whether the rule is about rows with this label and name; one without either about all."""
    return all(
        key not in rule or any(fnmatch.fnmatchcase(row[own], p) for p in rule[key])
        for key, own in (("labels", "label"), ("rows", "name"))
    )


def _met(row: dict[str, Any], rule: dict[str, Any]) -> bool | None:
    """Whether all of `when` holds and none of `unless`; None where the row has not the figures."""
    if any(_holds(row, condition) is True for condition in _conditions(rule, "unless")):
        return False
    found = [_holds(row, condition) for condition in _conditions(rule, "when")]
    return False if False in found else None if None in found else True


def _holds(row: dict[str, Any], condition: dict[str, Any]) -> bool | None:
    value = _value(row, condition["key"])
    if math.isnan(value):
        return None
    return all(test(value, condition[name]) for name, test in _TESTS.items() if name in condition)


def _value(row: dict[str, Any], key: str) -> float:
    """A figure of the row; NaN where it has none."""
    return _number(row[key] if key in row else row["raw"].get(key))


def _number(value: object) -> float:
    """A number of physical size, of what a file may hold under any key; NaN for anything else."""
    return float(value) if isinstance(value, int | float) and abs(value) < 1e30 else math.nan


def _evidence(row: dict[str, Any], rule: dict[str, Any]) -> str:
    """The figures that a rule asks for (or names as `evidence`), as far as the row has them."""
    keys = rule.get("evidence") or [condition["key"] for condition in _conditions(rule, "when")]
    return ", ".join(said for key in keys if (said := _quoted(row, key)))


def _quoted(row: dict[str, Any], key: str) -> str:
    plain = key.removesuffix("_share").replace("_", " ")
    value, text = _value(row, key), row["raw"].get(key)
    if math.isnan(value):
        return f"{plain} {text}" if isinstance(text, str) else ""
    words = rules()["quoted"].get(key)
    if words:
        return words.format(value, si=si(value, "s")).replace("%", " %")
    return f"{plain} {value * 100:.3g} %" if key.endswith("_share") else f"{plain} {value:.4g}"


def _with_derived(result: ResultFile, rows: pd.DataFrame) -> pd.DataFrame:
    """`rows` with the figures that only rules ask for, NaN where they are not known."""
    nan = math.nan
    rows = rows.copy()
    stated = [roof for roof in result.context.roofs if roof.name == "dram"]
    dram = [roof.value for roof in stated if roof.provenance in PROVENANCES_OF_RUN]
    dram = dram or [roof.value for roof in stated]
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
    claimed = rows[[f"claimed_{c}" for c in _CLAIMED]].bfill(axis=1).iloc[:, 0]
    true = rows[list(_CLAIMED)].where(rows[[f"claimed_{c}" for c in _CLAIMED]].notna().to_numpy())
    rows["claimed_over_true"] = claimed / true.bfill(axis=1).iloc[:, 0]
    rows["half_over_size"] = _half_over_size(rows)
    waves = pd.Series([_number(raw.get("waves")) for raw in rows["raw"]], index=rows.index)
    rows["wave_share"] = waves / np.ceil(waves)
    rows["tile_elements"] = [_elements(raw.get("tile")) for raw in rows["raw"]]
    return rows


def _half_over_size(rows: pd.DataFrame) -> list[float]:
    """The bytes at which each row's path reaches half of its bandwidth, as the row that carries
    the path's fit says, over the row's own."""
    paths, sizes, halves = [], [], {}
    columns = (rows[name] for name in ("concept", "kernel", "arguments", "raw"))
    for concept, kernel, arguments, raw in zip(*columns, strict=True):
        others = {name: value for name, value in arguments.items() if name != "size"}
        paths.append((concept, kernel, str(sorted(others.items()))))
        sizes.append(_number(arguments.get("size")))
        half = _number(raw.get("fit_half_bandwidth_bytes"))
        if half > 0:
            halves[paths[-1]] = half
    return [
        halves.get(path, math.nan) / size if size > 0 else math.nan
        for path, size in zip(paths, sizes, strict=True)
    ]


def _elements(tile: object) -> float:
    """How many results a tile such as "128x256" holds."""
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})", tile) if isinstance(tile, str) else None
    return float(found[1]) * float(found[2]) if found else math.nan


def headline_text(row: Any) -> str:
    """The figure that a row of with_headline() is judged by, with its unit: "4.11 TB/s"."""
    return si(row["value"], unit_of(row))


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
