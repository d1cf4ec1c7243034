"""Judges rows: which wall binds them, how far from their pattern they are, and why."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.results.quantities import better_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.model_error import is_known, sigma_of
from gpubench_reports.rules.verdicts.derived import with_derived
from gpubench_reports.rules.verdicts.rulebook import (
    evidence_of,
    first_fitting,
    is_about,
    is_met,
    rules,
)
from gpubench_reports.rules.verdicts.verdict import (
    EXPECTED,
    HIGH,
    LOW,
    MEANT,
    UNGRADED,
    Cause,
    Verdict,
)

_GRADES = {"low": (LOW, MEANT), "high": (HIGH,)}
_LAW, _ROOF = "the predicted limit", "its {} roof"  # yardsticks that the run's roofs are part of


def judge(result: ResultFile, recorded: Sequence[Range] = ()) -> dict[str, Verdict]:
    """A verdict for every row of `result` that has a time, by name, in the file's order.

    `recorded` are ranges of rows on this device; of another device's file they must not be given.
    """
    by_row: dict[str, list[Range]] = {}
    for entry in recorded:
        by_row.setdefault(entry.row, []).append(entry)
    measured = not result.context.modelled
    unproven = _unproven_roofs(result)
    found = {}
    for record in with_derived(result):
        verdict = _judge_row(record, by_row.get(record["name"], []), measured)
        by_roof = verdict.yardstick in (_LAW, _ROOF.format(verdict.label))
        if verdict.grade in (LOW, MEANT) and by_roof and verdict.label in unproven:
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
        "of this run measured that roof (rows of stream do)"
    )


def _judge_row(row: dict[str, Any], recorded: list[Range], measured: bool) -> Verdict:
    label = row["label"]
    pattern = first_fitting(row, "patterns")
    share, yardstick, low, high = _yardstick(row, recorded, measured)
    grade, severity = UNGRADED, math.nan
    if not math.isnan(low):
        grade = LOW if share < low else HIGH if share > high else EXPECTED
        if grade == LOW and row["raw"].get("demonstrates"):
            grade = MEANT
        # The distance from 1 over the allowed one, as logarithms: half is as far as twice.
        edge = low if share < 1 else high
        allowed = abs(math.log(edge)) if edge > 0 and edge != 1 else math.inf
        severity = abs(math.log(share)) / allowed if allowed < math.inf else 0.0
    causes = _causes(row, grade) if grade in (LOW, MEANT, HIGH) else []
    by_label = first_fitting(row, "walls")
    advice = pattern or first_fitting(row, "advice")
    return Verdict(
        name=row["name"],
        concept=row["concept"],
        label=label,
        bound=pattern.get("binds", label),
        shown=evidence_of(row, pattern),
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
        measures=str(row["raw"].get("measures", "")),
        borrowed=row["borrowed"] and "binds" not in pattern,
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
            if better_of(entry.quantity) == "lower":
                share, better, worse = 1 / share, 1 / worse, 1 / better
            words = f"what was recorded for it ({entry.source})"
            return share, words, worse * (1 - limits["recorded"]), better * (1 + limits["recorded"])
    ratio = row["law_ratio"]
    if ratio > 0:
        tolerance = row["law_tolerance"] if row["law_tolerance"] > 0 else limits["law"]
        tolerance = min(tolerance, 0.95)
        low, high = 1 - tolerance, 1 + tolerance
        if measured and is_known(row["concept"]):
            # The model is held to a law closely, since both leave out the same; a device is not.
            edge = _edge(row)
            low, high = min(low, 1 / edge), max(high, edge)
        if row["better"] == "lower" and row["law_value"] > 0:  # the law is a time
            ratio = 1 / ratio
        return ratio, _LAW, low, high
    if measured and row["model_seconds"] > 0:
        share = row["model_seconds"] / row["seconds"]
        edge = _edge(row)
        return share, "the model's prediction", 1 / edge, edge
    if row["roof_fraction"] > 0:
        roof = _ROOF.format(row["label"]) if row["label"] else "its roof"
        return row["roof_fraction"], roof, limits["roof_low"], limits["roof_high"]
    return math.nan, "", math.nan, math.nan


def _edge(row: dict[str, Any]) -> float:
    """The factor by which a measured row may be off the prediction: two standard deviations of the
    model's error for its class, as its file says."""
    if row["model_high_seconds"] > row["model_seconds"] > 0:
        return float(row["model_high_seconds"] / row["model_seconds"])
    return math.exp(2 * sigma_of(row["concept"], row["kernel"]))


def _no_grade(row: dict[str, Any], measured: bool) -> str:
    """Why nothing says what the row should reach."""
    label = row["label"]
    if not label:
        roof = "it is not known what binds it"
    elif label in rules()["without_roof"]:
        roof = f"{label} has no roof"
    else:
        roof = f"it is not known what share of a {label} roof it should reach"
    prediction = "no prediction" if measured else "the prediction is the result itself"
    return f"no law at this size or shape, nothing recorded, {prediction}, {roof}"


def _causes(row: dict[str, Any], grade: str) -> list[Cause]:
    """The rules whose conditions the row's own figures meet."""
    return [
        Cause(rule["says"], rule["change"], evidence_of(row, rule))
        for rule in rules()["causes"]
        if grade in _GRADES[rule["grade"]] and is_about(row, rule) and is_met(row, rule) is True
    ]
