"""What is often said of GPUs, put to the test by the rows of a file. The claims are data
(claims.toml); this module only applies them.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import Any

from gpubench_reports.common.plain_text import as_sentence
from gpubench_reports.common.units import argument_text, si
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Context
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.expressions import Expression
from gpubench_reports.rules.rule_rows import (
    RuleRows,
    UnusableError,
    bounds,
    check_names,
    figure,
    figure_text,
    figures_of,
    made,
    parsed,
    range_text,
)

HOLDS, FAILS, PARTLY, UNTESTED = "holds", "does not hold", "partly", "not tested"
_ROOFS = {"roof": True, "known": False}  # names of roofs in expressions: of the run or not


@dataclass(frozen=True)
class Case:
    """A [[claim.case]] of claims.toml, which says what its keys mean."""

    where: str
    value: Expression
    unit: str
    least: float = -math.inf
    most: float = math.inf
    rows: str = ""
    with_rows: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    shows: dict[str, Expression] = field(default_factory=dict)
    beside: str = ""

    @property
    def judges(self) -> bool:
        """Whether there is a range; else the figure is no part of the verdict."""
        return math.isfinite(self.least) or math.isfinite(self.most)

    @property
    def claimed(self) -> str:
        """The range in which the claim holds, in words; "" where the figure is only shown."""
        return range_text(self.least, self.most, self.unit) if self.judges else ""


@dataclass(frozen=True)
class Claim:
    """A [[claim]] of claims.toml."""

    number: int
    says: str
    note: str
    cases: tuple[Case, ...]
    source: str = ""
    modelled: str = ""


@dataclass(frozen=True)
class Tried:
    """A case on one row. `where` names it, `beside` is what stands beside the figure, or "".
    `holds` is None where the figure is only shown."""

    case: Case
    where: str
    figure: float
    holds: bool | None
    beside: str
    rows: tuple[str, ...]

    @property
    def text(self) -> str:
        return figure_text(self.figure, self.case.unit)


@dataclass(frozen=True)
class Finding:
    """What came of a claim. `untested`: the cases of the verdict that no row answers, with the
    reason."""

    claim: Claim
    is_modelled: bool
    tried: tuple[Tried, ...]
    untested: tuple[tuple[str, str], ...]

    @property
    def word(self) -> str:
        """HOLDS, FAILS, PARTLY or UNTESTED. A claim of which some cases could not be tried holds
        partly at most."""
        held = [one.holds for one in self.tried if one.holds is not None]
        if not held:
            return UNTESTED
        if not any(held):
            return FAILS
        return PARTLY if self.untested or not all(held) else HOLDS

    @property
    def verdict(self) -> str:
        """The word, and of a modelled file that it is modelled."""
        return f"modelled: {self.word}" if self.is_modelled and self.word != UNTESTED else self.word

    @property
    def conditions(self) -> str:
        """Where the claim holds, where it does not, and what could not be tried and why."""
        parts = []
        if self.word == PARTLY:
            for holds, lead in ((True, "holds for "), (False, "not for ")):
                places = [one.where for one in self.tried if one.holds == holds]
                if places:
                    parts.append(lead + ", ".join(places))
        parts += [
            f"not tested: {where}: {why}" if self.word != UNTESTED else f"{where}: {why}"
            for where, why in self.untested
        ]
        return "; ".join(parts)

    @property
    def why_untested(self) -> str:
        """Why the claim was not tested, and the figures that are shown all the same."""
        shown = [f"{one.text} {one.where}" for one in self.tried]
        lead = "shown, modelled" if self.is_modelled else "shown"
        return self.conditions + (f" ({lead}: {', '.join(shown)})" if shown else "")

    @property
    def notes(self) -> str:
        """Its conditions, and what else a reader of the verdict should know."""
        claim = self.claim
        conditions = as_sentence(self.conditions) if self.conditions else ""
        modelled = claim.modelled if self.is_modelled and self.tried else ""
        source = f"Source: {claim.source}." if claim.source else ""
        return " ".join(filter(None, (conditions, claim.note, modelled, source)))


# --- the claims -----------------------------------------------------------------------------------


@cache
def claims() -> tuple[Claim, ...]:
    """The claims that come with this program."""
    return claims_of(files(__package__).joinpath("claims.toml").read_text("utf-8"))


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims in `text`. Raises ValueError for what cannot be one."""
    found = []
    for entry in tomllib.loads(text)["claim"]:
        entry["cases"] = tuple(_case(entry["number"], case) for case in entry.pop("case"))
        found.append(made(Claim, f"claim {entry['number']}", entry))
        if not any(case.judges for case in found[-1].cases):
            raise ValueError(f"claim {entry['number']}: no case has a range in which it holds")
    numbers = [claim.number for claim in found]
    if numbers != sorted(set(numbers)):
        raise ValueError("claims are not numbered upwards")
    return tuple(found)


def _case(number: int, entry: dict[str, Any]) -> Case:
    name = f"claim {number}"
    shows = {key: Expression(text) for key, text in entry.get("shows", {}).items()}
    case: Case = made(Case, name, parsed(entry) | {"shows": shows})
    if not case.least <= case.most:
        raise ValueError(f"{name}: no range in which it holds")
    known = {*case.with_rows, *_ROOFS, *(["row"] if case.rows else [])}
    for expression in (case.value, *case.shows.values()):
        check_names(name, expression, known)
    re.compile(case.rows)
    return case


def tested_and_not(findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The findings of claims that were tested, and the others."""
    tested: list[Finding] = []
    others: list[Finding] = []
    for finding in findings:
        (others if finding.word == UNTESTED else tested).append(finding)
    return tested, others


# --- trying them ----------------------------------------------------------------------------------


def judge_claims(result: ResultFile, by: tuple[Claim, ...] | None = None) -> list[Finding]:
    """What the rows of `result` say to each claim (default: those that come with this program)."""
    rows = RuleRows(result)
    return [_judge(claim, result.context, rows) for claim in (claims() if by is None else by)]


def _judge(claim: Claim, context: Context, rows: RuleRows) -> Finding:
    if context.mode == "hot":
        why = ("here", "the rows ran with hot caches, and the claims are about cold ones")
        return Finding(claim, context.modelled, (), (why,))
    tried: list[Tried] = []
    untested: list[tuple[str, str]] = []
    missing: list[tuple[Case, dict[str, float | str], str]] = []
    cases = [c for c in claim.cases if not c.devices or context.device in c.devices]
    if not any(case.judges for case in cases):
        devices = ", ".join(dict.fromkeys(name for case in claim.cases for name in case.devices))
        untested.append(("here", f"the claim is about {devices}, and this is {context.device}"))
    for case in cases:
        try:
            names = rows.matching(case.rows) if case.rows else [""]
        except UnusableError as why:
            missing.append((case, {}, str(why)))
            continue
        for name in names:
            arguments = rows.arguments(name) if name else {}
            try:
                tried.append(_try(case, _where(case, arguments), name, context, rows))
            except UnusableError as why:
                missing.append((case, arguments, str(why)))
    untested += [(_where(case, of), why) for case, of, why in missing if case.judges]
    return Finding(claim, context.modelled, tuple(tried), tuple(untested))


def _where(case: Case, arguments: Mapping[str, float | str]) -> str:
    """The name of a case, with "any" for an argument that no row gives."""
    return re.sub(
        r"\{(\w+)\}",
        lambda found: argument_text(arguments.get(found[1], "any")),
        case.where,
    )


def _try(case: Case, where: str, name: str, context: Context, rows: RuleRows) -> Tried:
    used = rows.used(name, case.with_rows) if name else {}
    of_rows = figures_of(used)
    for alias, of_run in _ROOFS.items():
        of_rows[alias] = partial(_roof, context, of_run)

    value = figure(case.value, of_rows, name or where)
    shows = {key: figure(part, of_rows, name or where) for key, part in case.shows.items()}
    beside = case.beside.format_map({key: si(value) for key, value in shows.items()})
    names = tuple(row["name"] for row in used.values())
    holds = case.least <= value <= case.most if case.judges else None
    return Tried(case, where, value, holds, beside, names)


def _roof(context: Context, of_run: bool, name: str) -> float:
    for roof in context.roofs:
        if roof.name == name and (roof.provenance in PROVENANCES_OF_RUN) == of_run:
            return roof.value
    raise UnusableError(f"{'this run found' if of_run else 'the device file has'} no roof {name}")


def as_json(result: ResultFile, findings: list[Finding]) -> dict[str, Any]:
    """The findings of a file for other programs; figures in SI base units."""
    context = result.context
    return {
        "file": str(result.path),
        "device": context.device,
        "device_kind": context.device_kind,
        "reservations": context.reservations,
        "claims": [
            {
                "number": finding.claim.number,
                "claim": finding.claim.says,
                "verdict": finding.word,
                "modelled": finding.is_modelled,
                "cases": [
                    {
                        "where": one.where,
                        "figure": one.figure,
                        "unit": one.case.unit,
                        **bounds(one.case.least, one.case.most),
                        "holds": one.holds,
                        "rows": list(one.rows),
                    }
                    for one in finding.tried
                ],
                "not_tested": [{"where": where, "why": why} for where, why in finding.untested],
                "note": finding.notes,
            }
            for finding in findings
        ],
    }
