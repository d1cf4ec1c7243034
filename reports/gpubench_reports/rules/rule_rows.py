"""The rows of a result file as rules in data files ask for them: by patterns of names."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from gpubench_reports.common.units import si
from gpubench_reports.results.intervals import is_unsure, width_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.expressions import Expression


class UnusableError(Exception):
    """Why a rule gives no figure."""


class RuleRows:
    """The rows of one file by name."""

    def __init__(self, result: ResultFile) -> None:
        self._modelled = result.context.modelled
        self._rows = {line["name"]: line for line in result.records}

    def matching(self, pattern: str) -> list[str]:
        """The names that the whole pattern fits. Raises UnusableError where there is none."""
        names = [name for name in self._rows if re.fullmatch(pattern, name)]
        if not names:
            concept = pattern.partition("/")[0]
            known = any(name.startswith(f"{concept}/") for name in self._rows)
            what = pattern if known or not concept.isidentifier() else f"of {concept}"
            raise UnusableError(f"no row {what} in the file")
        return names

    def usable(self, name: str) -> dict[str, Any]:
        """The row of this name. Raises UnusableError where its figures say nothing."""
        row: dict[str, Any] = self._rows[name]
        if row["status"] != "ok":
            raise UnusableError(f"{name} {row['status']}: {row['reason']}")
        # A modelled time has no noise: such a row only ran out of time on a busy host.
        if is_unsure(row) and not self._modelled:
            raise UnusableError(f"{name} did not converge{_how_far(row)}")
        if row["throttled"] > 0:
            raise UnusableError(f"{name} ran throttled")
        return row

    def arguments(self, name: str) -> dict[str, float | str]:
        """The arguments of the row of this name, whatever became of it."""
        arguments: dict[str, float | str] = self._rows[name]["arguments"]
        return arguments

    def used(self, name: str, beside: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """The row of this name as `row`, and by its alias the one beside it of each pattern. Raises
        UnusableError where there is none, or its figures say nothing."""
        row = self.usable(name)
        others = {alias: self.beside(row, pattern) for alias, pattern in beside.items()}
        return {"row": row} | others

    def beside(self, row: dict[str, Any], pattern: str) -> dict[str, Any]:
        """The first row of the pattern, in which {argument} is that of `row`. Raises UnusableError
        where there is none, or its figures say nothing."""
        arguments = {
            key: re.escape(value if isinstance(value, str) else f"{value:.15g}")
            for key, value in row["arguments"].items()
        }
        try:
            wanted = pattern.format_map(arguments)
        except KeyError as missing:
            raise UnusableError(f"{row['name']} has no {missing.args[0]}") from None
        return self.usable(self.matching(wanted)[0])


def _how_far(row: Mapping[str, Any]) -> str:
    """What a row that did not converge has instead, as far as it says."""
    if not math.isnan(width := width_of(row)):
        return f": its interval is {figure_text(width, 'fraction')} of its time"
    return f": it has {row['samples']:.0f} samples" if row["samples"] > 0 else ""


def plain_figure(row: dict[str, Any], key: str) -> Any:
    """`row.key` of a rule: the time, an argument, or what stands in the file. Raises UnusableError
    where the row has none, or one that is no number and no word."""
    if key == "seconds":
        return row["seconds"]
    value = row["arguments"].get(key, row["raw"].get(key))
    if value is None or isinstance(value, (list, dict, bool)):
        raise UnusableError(f"{row['name']} has no {key}")
    return value


def figures_of(used: Mapping[str, dict[str, Any]]) -> dict[str, Callable[[str], Any]]:
    """What figure() takes: the plain figures of each row, by its alias."""
    return {alias: partial(plain_figure, row) for alias, row in used.items()}


def figure(expression: Expression, of: Mapping[str, Callable[[str], Any]], where: str) -> float:
    """What the expression makes of `of[name](key)` for each name.key in it. Raises UnusableError,
    which names `where`, if that is no number."""
    try:
        value = float(expression.value(str, of))
    except (ArithmeticError, ValueError, TypeError):
        value = math.nan
    if not math.isfinite(value):
        raise UnusableError(f"{where}: its figures have no result")
    return value


def figure_text(value: float, unit: str) -> str:
    """A figure for a reader: a fraction in percent, times with their sign, a count whole."""
    if unit == "fraction":
        return f"{value * 100:.3g} %"
    if unit == "times":
        return f"{value:.3g} times"
    return si(value, unit) if unit else f"{value:.0f}"


def bounds(least: float, most: float) -> dict[str, float]:
    """A range for other programs: an end that is infinite is absent."""
    return {key: end for key, end in (("least", least), ("most", most)) if math.isfinite(end)}


def range_text(least: float, most: float, unit: str) -> str:
    """A range, one end of which may be infinite, in words."""
    low, high = figure_text(least, unit), figure_text(most, unit)
    if math.isinf(most):
        return f"at least {low}"
    return f"at most {high}" if math.isinf(least) else f"{low} to {high}"


def parsed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a rules file says of a rule, with `with`, `devices` and `value` as what they stand for.
    Raises ValueError for a value that is no expression."""
    rule = dict(entry)
    rule["with_rows"] = rule.pop("with", {})
    rule["devices"] = tuple(rule.get("devices", ()))
    if "value" in rule:
        rule["value"] = Expression(rule["value"])
    return rule


def made(kind: type, name: str, entry: Mapping[str, Any]) -> Any:
    """A `kind` with the entry's keys. Raises ValueError, which names `name`, for what it lacks or
    does not know."""
    try:
        return kind(**entry)
    except TypeError as error:
        raise ValueError(f"{name}: {str(error).partition(' ')[2]}") from None


def check_names(name: str, expression: Expression, known: Iterable[str]) -> None:
    """Raises ValueError, which names `name`, if the expression has other names than the known."""
    if unknown := sorted(expression.names() - set(known)):
        raise ValueError(f"{name}: nothing is called {unknown[0]!r}")
