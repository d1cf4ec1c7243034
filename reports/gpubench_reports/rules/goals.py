"""What gpubench wants to show on a GPU, and whether a folder of scripts/validate-gpu shows it. The
goals are data (goals.toml); this module only applies them.
"""

import math
import re
import statistics
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import require_folder
from gpubench_reports.common.units import plural
from gpubench_reports.comparisons import counters
from gpubench_reports.comparisons.agree import agree, by_concept, require_repetitions
from gpubench_reports.comparisons.ncu_profile import Profiled, read_profile
from gpubench_reports.comparisons.peers import answers
from gpubench_reports.comparisons.peers.questions import WHATS
from gpubench_reports.comparisons.validate import validate
from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import ResultFile, read
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

MET, MISSED, ABSENT = "met", "missed", "absent"
_TAKE = {"largest": max, "smallest": min}
# The device's own suite runs; the second one is without predictions, which take time too.
_PLAIN_SUITE = "suite-2.json"
# What binds the rows that a calibrated model has to know best.
_BANDWIDTHS = ("dram", "l2")


@dataclass(frozen=True)
class Goal:
    """A [[goal]] of goals.toml, which says what its keys mean."""

    what: str
    of: str
    unit: str
    least: float = -math.inf
    most: float = math.inf
    rows: str = ""
    with_rows: dict[str, str] = field(default_factory=dict)
    value: Expression | None = None
    take: str = "largest"
    question: str = ""
    devices: tuple[str, ...] = ()
    why: str = ""

    @property
    def wanted(self) -> str:
        """The goal in words."""
        return range_text(self.least, self.most, self.unit)


@dataclass(frozen=True)
class Outcome:
    """What came of a goal. `figure` is NaN where there is none; `words` say why, or what the
    figure is of."""

    goal: Goal
    is_modelled: bool
    figure: float
    words: str

    @property
    def word(self) -> str:
        """MET, MISSED or ABSENT."""
        if math.isnan(self.figure):
            return ABSENT
        return MET if self.goal.least <= self.figure <= self.goal.most else MISSED

    @property
    def verdict(self) -> str:
        """The word, and of a modelled folder that it is modelled."""
        return f"modelled: {self.word}" if self.is_modelled and self.word != ABSENT else self.word

    @property
    def text(self) -> str:
        """The figure as a reader wants it, or ""."""
        return "" if math.isnan(self.figure) else figure_text(self.figure, self.goal.unit)


# --- the goals ------------------------------------------------------------------------------------


@cache
def goals() -> tuple[Goal, ...]:
    """The goals that come with this program."""
    return goals_of(files(__package__).joinpath("goals.toml").read_text("utf-8"))


def goals_of(text: str) -> tuple[Goal, ...]:
    """The goals in `text`. Raises ValueError for what cannot be one."""
    return tuple(_goal(entry) for entry in tomllib.loads(text)["goal"])


def _goal(entry: dict[str, Any]) -> Goal:
    name = f"goal {entry.get('what', '')!r}"
    goal: Goal = made(Goal, name, parsed(entry))
    if goal.of not in _FIGURES:
        raise ValueError(f"{name}: `of` is {goal.of!r}, not one of {', '.join(_FIGURES)}")
    if not goal.least <= goal.most or (math.isinf(goal.least) and math.isinf(goal.most)):
        raise ValueError(f"{name}: no range in which it is met")
    if (goal.of == "rows") != bool(goal.rows and goal.value):
        raise ValueError(f"{name}: `rows` and `value` are of goals of rows")
    if goal.take not in _TAKE:
        raise ValueError(f"{name}: `take` is {goal.take!r}, not one of {', '.join(_TAKE)}")
    questions = [what.name for what in WHATS]
    if (goal.of == "peers") != (goal.question in questions):
        raise ValueError(
            f"{name}: `question` is {goal.question!r}, not one of those that peers answer"
        )
    if goal.value:
        check_names(name, goal.value, {"row", *goal.with_rows})
    re.compile(goal.rows)
    return goal


# --- holding a folder against them ----------------------------------------------------------------


class Folder:
    """What scripts/validate-gpu made, read when it is asked for. Raises UnusableError for what is
    not there, ReportError for what is wrong."""

    def __init__(self, path: Path) -> None:
        require_folder(path)
        self.path = path
        if not self.suites:
            raise ReportError(
                path, "holds no suite-1.json: scripts/validate-gpu makes such folders"
            )

    @property
    def context(self) -> Context:
        """The context of the first suite."""
        return self.suites[0].context

    @cached_property
    def suites(self) -> list[ResultFile]:
        found = [read(path) for path in sorted(self.path.glob("suite-*.json"))]
        if found:
            require_repetitions(found)
        return found

    @cached_property
    def beside(self) -> list[answers.PeerComparison]:
        if not (self.path / "peers" / "seconds.json").exists():
            raise UnusableError("no other program was run")
        return answers.compare(self.path / "peers")

    @cached_property
    def profiled(self) -> list[Profiled]:
        paths = sorted(self.path.glob("profile-*.csv"))
        if not paths:
            raise UnusableError("nothing was profiled")
        return [launch for path in paths for launch in read_profile(path)]

    def file(self, name: str) -> ResultFile:
        if not (self.path / name).exists():
            raise UnusableError(f"there is no {name}")
        return read(self.path / name)


def hold(path: Path, by: tuple[Goal, ...] | None = None) -> tuple[Context, list[Outcome]]:
    """What the folder at `path` shows of each goal that is for its device (default: those that
    come with this program), and the context of its first suite. Raises ReportError."""
    folder = Folder(path)
    context = folder.context
    outcomes = []
    for goal in goals() if by is None else by:
        if goal.devices and context.device not in goal.devices:
            continue
        try:
            figure, words = _FIGURES[goal.of](goal, folder)
        except UnusableError as why:
            figure, words = math.nan, str(why)
        outcomes.append(Outcome(goal, context.modelled, figure, words))
    return context, outcomes


def _of_rows(goal: Goal, folder: Folder) -> tuple[float, str]:
    assert goal.value is not None, "which is so of goals of rows"
    value = goal.value
    best, names, left_out = [], set(), []
    for result in folder.suites:
        rows = RuleRows(result)
        values = {}
        try:
            matching = rows.matching(goal.rows)
        except UnusableError as why:
            left_out.append(str(why))
            continue
        for name in matching:
            try:
                used = rows.used(name, goal.with_rows)
                values[name] = figure(value, figures_of(used), name)
            except UnusableError as why:
                left_out.append(str(why))
        if values:
            name = _TAKE[goal.take](values, key=values.__getitem__)
            best.append(values[name])
            names.add(name)
    if not best:
        raise UnusableError(left_out[0])
    words = f"{', '.join(sorted(names))}; {plural(len(best), 'run')}"
    if left_out:
        words += f"; {len(left_out)} left out, the first because {left_out[0]}"
    return statistics.median(best), words


def _of_peers(goal: Goal, folder: Folder) -> tuple[float, str]:
    found = [one for one in folder.beside if one.what.name == goal.question]
    if not found:
        raise UnusableError("no other program answered")
    best = max(found, key=lambda one: one.theirs.value)
    if best.ratio is None or best.ours is None:
        raise UnusableError("gpubench has no such row")
    unit = best.what.unit
    return best.ratio, (
        f"{figure_text(best.ours.value, unit)} beside {figure_text(best.theirs.value, unit)} of "
        f"{best.theirs.program}"
    )


def _of_agreement(goal: Goal, folder: Folder) -> tuple[float, str]:
    if folder.context.modelled:
        raise UnusableError("runs of a model agree by construction")
    for result in folder.suites:
        _require_all_rows(result.context)
    if len(folder.suites) < 2:
        raise UnusableError("the suite was run only once")
    line = by_concept(agree(folder.suites).rows).iloc[-1]
    if math.isnan(line["narrow"]):
        raise UnusableError("no row has an interval")
    # A row without an interval has no narrow one.
    share = float(line["narrow"]) * line["intervals"] / line["rows"]
    runs = plural(len(folder.suites), "run")
    without = line["rows"] - line["intervals"]
    more = f", {without} of them without an interval" if without else ""
    return share, f"{line['rows']} rows{more}, the worst of {runs}"


def _of_counters(goal: Goal, folder: Folder) -> tuple[float, str]:
    found = counters.compare(folder.file("counted.json"), folder.profiled)
    lacking, rows = len(found.unprofiled), len(found.unprofiled) + found.rows
    if 2 * lacking > rows:
        raise UnusableError(f"the profile has no launch of {lacking} of {rows} rows")
    unknown = sum(not one.why for one in found.differences)
    more = f"; the profile lacks {plural(lacking, 'row')}" if lacking else ""
    return float(unknown), (
        f"launches compared: {found.launches}; {sum(found.equal.values())} figures agree, "
        f"{len(found.differences)} differ{more}"
    )


def _of_durations(goal: Goal, folder: Folder) -> tuple[float, str]:
    held = [
        one for one in counters.timings(folder.file("hot.json"), folder.profiled) if one.expected
    ]
    if not held:
        raise UnusableError("no row of one launch is long enough")
    worst = max(held, key=lambda one: abs(one.ratio - 1))
    return abs(worst.ratio - 1), f"{worst.row}, the worst of {len(held)}"


def _of_prediction(goal: Goal, folder: Folder) -> tuple[float, str]:
    rows = validate([folder.file(_PLAIN_SUITE), folder.file("predicted.json")]).rows
    bound = rows[rows["label"].isin(_BANDWIDTHS)]
    if bound.empty:
        raise UnusableError("no row is bound by DRAM or L2")
    worst = bound.loc[bound["error"].abs().idxmax()]
    within = int((bound["error"].abs() <= goal.most).sum())
    return abs(worst["error"]), f"{worst['name']}; {within} of {len(bound)} are within the goal"


def _of_seconds(goal: Goal, folder: Folder) -> tuple[float, str]:
    context = folder.file(_PLAIN_SUITE).context
    if context.modelled:
        raise UnusableError("a model's run takes the host's time, not a GPU's")
    _require_all_rows(context)
    if context.suite != "default":
        raise UnusableError(f"this was the {context.suite} suite")
    if math.isnan(context.run_seconds):
        raise UnusableError(f"{_PLAIN_SUITE} does not say how long it took")
    return context.run_seconds, "from the first row to the last"


def _require_all_rows(context: Context) -> None:
    """Some rows of a suite say nothing of the suite."""
    if context.interrupted:
        raise UnusableError("the run was interrupted")
    if context.filter:
        raise UnusableError(f"only rows of {context.filter} were run")


_FIGURES: dict[str, Callable[[Goal, Folder], tuple[float, str]]] = {
    "rows": _of_rows,
    "peers": _of_peers,
    "agreement": _of_agreement,
    "counters": _of_counters,
    "durations": _of_durations,
    "prediction": _of_prediction,
    "seconds": _of_seconds,
}


def as_json(folder: Path, context: Context, outcomes: list[Outcome]) -> dict[str, Any]:
    """The outcomes of a folder for other programs; figures in SI base units, absent where there
    is none."""
    return {
        "folder": str(folder),
        "device": context.device,
        "device_kind": context.device_kind,
        "reservations": context.reservations,
        "goals": [
            {
                "goal": one.goal.what,
                "verdict": one.word,
                "modelled": one.is_modelled,
                **({} if math.isnan(one.figure) else {"figure": one.figure}),
                "unit": one.goal.unit,
                **bounds(one.goal.least, one.goal.most),
                "of": one.words,
                "why": one.goal.why,
            }
            for one in outcomes
        ],
    }
