"""The figures of a device file from measured rows. Which row measures which figure, and how, is
data (calibration.toml); this module only applies it.
"""

import json
import math
import os
import re
import statistics
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.names import is_file_name
from gpubench_reports.results.device_files import DEVICES, DeviceFile, figure_rules, shipped_devices
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.expressions import Expression
from gpubench_reports.rules.rule_rows import RuleRows, UnusableError, plain_figure

_TAKES: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "largest": max,
}
_DIGITS = 6  # more than any row is worth


@dataclass(frozen=True)
class Rule:
    """A [[rule]] of calibration.toml, which says what its keys mean."""

    figure: str
    rows: str
    value: Expression
    why: str
    assumes: str
    with_rows: dict[str, str] = field(default_factory=dict)
    let: dict[str, Expression] = field(default_factory=dict)
    only_if: Expression | None = None
    unless: str = ""
    take: str = "median"
    nearest: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rules:
    """What calibration.toml holds. `kept`: the figures that no row measures, with the reason."""

    mode: str
    rules: tuple[Rule, ...]
    kept: dict[str, str]

    def pattern(self) -> str:
        """The names of all rows that a rule asks for, as a regular expression."""
        asked = [p for rule in self.rules for p in (rule.rows, *rule.with_rows.values())]
        patterns = [re.sub(r"\{\w+\}", "[^/]+", pattern) for pattern in asked]
        return f"^({'|'.join(dict.fromkeys(patterns))})$"


@dataclass(frozen=True)
class Calibrated:
    """A figure that rows gave: by which rule, from which rows, and which other figures that a rule
    could have given were taken from the base."""

    figure: str
    value: float
    rule: Rule
    rows: tuple[str, ...]
    from_base: tuple[str, ...]


@dataclass(frozen=True)
class Calibration:
    """`missed`: the figures that a rule is for and that no row gave, with the reason."""

    result: ResultFile
    base: DeviceFile
    figures: tuple[Calibrated, ...]
    missed: dict[str, str]


# --- the rules ------------------------------------------------------------------------------------


@cache
def rules() -> Rules:
    """The rules that come with this program."""
    return rules_of(files(__package__).joinpath("calibration.toml").read_text("utf-8"))


def rules_of(text: str) -> Rules:
    """The rules in `text`. Raises ValueError for what cannot be one."""
    document = tomllib.loads(text)
    found = []
    for entry in document["rule"]:
        found += [_rule(chosen) for chosen in _each(entry)]
    kept = {name: entry["why"] for entry in document["kept"] for name in entry["figures"]}
    return Rules(document["mode"], tuple(found), kept)


def _each(entry: dict[str, Any]) -> list[dict[str, Any]]:
    if "each" not in entry:
        return [entry]
    [(name, words)] = entry["each"].items()
    rest = json.dumps({key: value for key, value in entry.items() if key != "each"})
    return [json.loads(rest.replace(f"{{{name}}}", word)) for word in words]


def _rule(entry: dict[str, Any]) -> Rule:
    entry = dict(entry)
    rule = Rule(
        figure=entry.pop("figure"),
        rows=entry.pop("rows"),
        value=Expression(entry.pop("value")),
        why=entry.pop("why"),
        assumes=entry.pop("assumes"),
        with_rows=entry.pop("with", {}),
        let={name: Expression(text) for name, text in entry.pop("let", {}).items()},
        only_if=Expression(entry["only_if"]) if "only_if" in entry else None,
        unless=entry.pop("unless", ""),
        take=entry.pop("take", "median"),
        nearest=tuple(entry.pop("nearest", ())),
    )
    entry.pop("only_if", None)
    if entry:
        raise ValueError(f"rule of {rule.figure}: unknown key {next(iter(entry))!r}")
    if rule.take not in _TAKES:
        raise ValueError(f"rule of {rule.figure}: no way to take is called {rule.take!r}")
    if (rule.only_if is None) != (not rule.unless):
        raise ValueError(f"rule of {rule.figure}: only_if and unless belong together")
    re.compile(rule.rows)
    known = {"row", *rule.with_rows, *rule.let, *figure_rules()}
    for expression in (rule.value, *rule.let.values(), *filter(None, [rule.only_if])):
        if unknown := sorted(expression.names() - known):
            raise ValueError(f"rule of {rule.figure}: nothing is called {unknown[0]!r}")
    return rule


# --- applying them --------------------------------------------------------------------------------


def calibrate(result: ResultFile, base: DeviceFile, from_model: bool, by: Rules) -> Calibration:
    """All figures that the rows of `result` give, on top of `base`. Raises ReportError where these
    rows cannot calibrate a device file at all."""
    context = result.context
    if context.imported_from:
        raise ReportError(
            result.path, f"comes from {context.imported_from}: only rows of gpubench calibrate"
        )
    if context.modelled and not from_model:
        raise ReportError(
            result.path,
            "is modelled: it would give back what the model was given (--from-model, to try that)",
        )
    if from_model and not context.modelled:
        raise ReportError(result.path, "was measured: --from-model is for modelled files")
    document = base.document
    titles = (document["title"], *document.get("matches", ()))
    if context.device != base.name and context.device_title not in titles:
        raise ReportError(
            result.path,
            f"is of {context.device_title}, and the base {base.name} describes "
            f"{document['title']}: give --base a file of the same device",
        )
    if context.mode != by.mode:
        raise ReportError(
            result.path, f"is of mode '{context.mode}', figures come from rows of mode '{by.mode}'"
        )
    applied = _Applied(result, base, by)
    found, missed = [], {}
    for figure in dict.fromkeys(rule.figure for rule in by.rules):
        answer = applied.of(figure)
        if isinstance(answer, Calibrated):
            found.append(answer)
        else:
            missed[figure] = answer
    if not found:
        figure, why = next(iter(missed.items()))
        raise ReportError(
            result.path,
            f"gives no figure at all; {figure}, for one: {why} (scripts/calibrate "
            "runs the rows that do)",
        )
    return Calibration(result, base, tuple(found), missed)


class _Applied:
    """The rules on one result file; a figure is computed when it is first asked for."""

    def __init__(self, result: ResultFile, base: DeviceFile, by: Rules) -> None:
        self._result, self._base, self._by = result, base, by
        self._modelled = result.context.modelled
        self._rows = RuleRows(result)
        self._answers: dict[str, Calibrated | str] = {}

    def of(self, figure: str) -> Calibrated | str:
        """The figure, or the reason why no row gives it."""
        if figure not in self._answers:
            reasons = []
            for rule in self._by.rules:
                if rule.figure != figure:
                    continue
                try:
                    self._answers[figure] = self._apply(rule)
                    return self._answers[figure]
                except UnusableError as why:
                    reasons.append(str(why))
            self._answers[figure] = "; ".join(dict.fromkeys(reasons))
        return self._answers[figure]

    def _apply(self, rule: Rule) -> Calibrated:
        from_base: list[str] = []
        values, names, reasons = [], [], []
        for name in self._rows.matching(rule.rows):
            try:
                values.append(self._value(rule, name, from_base))
                names.append(name)
            except UnusableError as why:
                reasons.append(str(why))
        if not values:
            raise UnusableError("; ".join(dict.fromkeys(reasons)))
        value = _TAKES[rule.take](values)
        if rule.nearest:
            value = min(rule.nearest, key=lambda choice: abs(math.log(choice / value)))
        self._check(rule.figure, value)
        if figure_rules()[rule.figure].constraint in ("count", "whole"):
            value = round(value)
        else:
            value = float(f"{value:.{_DIGITS}g}")
        return Calibrated(rule.figure, value, rule, tuple(names), tuple(dict.fromkeys(from_base)))

    def _check(self, figure: str, value: float) -> None:
        constraint = figure_rules()[figure].constraint
        largest = 1 if constraint == "fraction" else math.inf
        if not 0 < value <= largest or not math.isfinite(value):
            bounds = "above 0, at most 1" if largest == 1 else "above 0"
            raise UnusableError(f"comes to {value:.4g}, must be {bounds}")

    def _value(self, rule: Rule, name: str, from_base: list[str]) -> float:
        row = self._rows.usable(name)
        rows = {"row": partial(self._of_row, row, from_base)}
        for alias, pattern in rule.with_rows.items():
            other = self._rows.beside(row, pattern)
            rows[alias] = partial(self._of_row, other, from_base)
        named: dict[str, float] = {}

        def of_name(key: str) -> float:
            return named[key] if key in named else self._figure(key, from_base)

        try:
            for key, expression in rule.let.items():
                named[key] = expression.value(of_name, rows)
            if rule.only_if is not None and not rule.only_if.value(of_name, rows):
                raise UnusableError(f"{name}: {rule.unless}")
            value = float(rule.value.value(of_name, rows))
        except (ArithmeticError, ValueError, TypeError):
            raise UnusableError(f"{name}: its figures have no result") from None
        if rule.take != "mean":
            self._check(rule.figure, value)
        return value

    def _figure(self, figure: str, from_base: list[str]) -> float:
        has_rule = any(rule.figure == figure for rule in self._by.rules)
        if has_rule and isinstance(answer := self.of(figure), Calibrated):
            from_base += answer.from_base
            return answer.value
        value = self._base.value(figure)
        if value is None:
            raise UnusableError(f"needs {figure}, which no row gives and the base does not have")
        if has_rule:
            from_base.append(figure)
        return value

    def _of_row(self, row: dict[str, Any], from_base: list[str], key: str) -> Any:
        name = row["name"]
        if key == "busy":
            busy = row["seconds"] - self._figure("kernel_floor_seconds", from_base)
            if busy <= 0:
                raise UnusableError(f"{name} takes no longer than an empty kernel")
            return busy
        if key in ("bytes", "flops"):
            rate = "useful_bytes_per_second" if key == "bytes" else "flops_per_second"
            return self._of_row(row, from_base, rate) * row["seconds"]
        if key == "clock":
            if not math.isnan(row["sm_clock_hz"]):
                return row["sm_clock_hz"]
            if self._modelled:
                return self._figure("sm_clock_hz", from_base)
            raise UnusableError(f"{name}: its clock is not known")
        if key in ("tile_m", "tile_n"):
            tile = re.fullmatch(r"(\d+)x(\d+)", str(row["raw"].get("tile", "")))
            if tile is None:
                raise UnusableError(f"{name} does not say its tile")
            return int(tile[1 if key == "tile_m" else 2])
        return plain_figure(row, key)


# --- what becomes of it ---------------------------------------------------------------------------


def device_text(found: Calibration, name: str) -> str:
    """The base as a device file called `name`, with the calibrated figures in it."""
    document = json.loads(json.dumps(found.base.document))
    document["name"] = name
    for one in found.figures:
        text = _source(found, one)
        entry = {"value": one.value, "from": "calibrated", "source": f"row-{one.figure}"}
        if found.result.context.modelled:
            entry |= {"from": "assumed", "source": text}
        else:
            document["sources"][entry["source"]] = text
        document["figures"][one.figure] = entry
    return _laid_out(document)


def output_path(result: ResultFile, name: str | None, out: Path | None) -> Path:
    """Where the new file goes: its stem is its name. Raises ReportError where it must not."""
    if name is not None and not is_file_name(name):
        raise ReportError("--name", f"'{name}' cannot be the name of a device file")
    if out is None:
        if name is None and not is_file_name(result.context.device):
            device = result.context.device
            raise ReportError(
                result.path, f"no file can be called as its device, '{device}': --name"
            )
        out = Path(f"{name or f'{result.context.device}-calibrated'}.json")
    if out.suffix != ".json" or (name is not None and name != out.stem):
        raise ReportError(out, f"must be called {name or out.stem}.json, as the device in it")
    shipped = [os.path.realpath(DEVICES / f"{device}.json") for device in shipped_devices()]
    if result.context.modelled and os.path.realpath(out) in shipped:
        raise ReportError(out, "is a device file that ships: no modelled figures go into it")
    return out


def _source(found: Calibration, one: Calibrated) -> str:
    context = found.result.context
    rows = one.rows[0] if len(one.rows) == 1 else f"{one.rule.take} of {', '.join(one.rows)}"
    let = "".join(f", {name} = {value.text}" for name, value in one.rule.let.items())
    parts = [f"{rows}: {one.rule.value.text}{let}"]
    if context.modelled:
        parts.insert(0, f"MODELLED, not measured, by the model of {context.device}: ")
    parts.append(f"; {context.date or 'date not known'}, {context.device_title}")
    if not context.modelled:
        parts.append(f", driver {context.driver_version or 'not known'}")
        parts.append(f", CUDA {context.cuda_version or 'not known'}")
    dirty = " with changes" if context.git_dirty else ""
    parts.append(f", gpubench {context.git_commit[:12] or 'of an unknown commit'}{dirty}")
    if one.from_base:
        parts.append(f"; taking {', '.join(one.from_base)} from {found.base.name}")
    return "".join(parts)


def _laid_out(document: dict[str, Any]) -> str:
    """As the shipped files are: one line per figure and per source."""
    lines = []
    for key, value in document.items():
        if isinstance(value, dict):
            inner = ",\n".join(
                f"    {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
                for k, v in value.items()
            )
            text = f"{{\n{inner}\n  }}" if inner else "{}"
        else:
            text = json.dumps(value, ensure_ascii=False)
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
