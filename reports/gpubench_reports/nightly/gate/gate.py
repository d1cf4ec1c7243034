"""The pull-request gate: is program B slower than program A?

Fresh processes of the two alternate, A B A B, so that a machine that drifts does it to both. For
each row: the ratio of the medians of the processes' medians with a bootstrap interval, and the
Mann-Whitney test of those medians. Over all rows the tests are corrected by
Benjamini and Hochberg's procedure. A row is slower if the corrected p-value, the interval and the
floor all say so.
"""

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import si
from gpubench_reports.nightly.gate.sorted_rows import SortedRows
from gpubench_reports.nightly.nights import health
from gpubench_reports.nightly.nights.gpu_lock import alone_on
from gpubench_reports.nightly.nights.running import CannotJudgeError, Program, Unchanged
from gpubench_reports.nightly.reporting.summary import REHEARSAL, percent
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.process_file import ProcessFile, read_process, refuse_other_kind
from gpubench_reports.pages.markdown_report import code_of, escape

_RESAMPLES = 4000
_SHOWN = 60  # rows of the Markdown table at most


@dataclass(frozen=True)
class Comparison:
    """What the statistics say of rows, one an entry; ratios are B's time over A's."""

    ratio: np.ndarray
    low: np.ndarray  # 95 % bootstrap interval of the ratio
    high: np.ndarray
    q: np.ndarray  # p-value of the Mann-Whitney test, corrected over the rows
    side: np.ndarray  # +1 slower, -1 faster, 0 neither


@dataclass(frozen=True)
class GateResult:
    names: list[str]
    a: np.ndarray  # median of processes' medians [s]
    b: np.ndarray
    comparison: Comparison
    rounds: int
    sorted_rows: SortedRows
    too_few: list[str]  # rows with sound times of too few processes to find anything
    notes: list[str]
    rehearsal: bool

    @property
    def exit_code(self) -> int:
        if self.sorted_rows.failed or (self.comparison.side > 0).any():
            return 1
        return 2 if self.sorted_rows.unjudged or self.notes or not self.names else 0

    @property
    def problems(self) -> list[str]:
        """A line about each row that failed or was not judged, and about the whole."""
        rows = self.sorted_rows
        lines = [f"{name}: {why}" for name, why in (rows.failed | rows.unjudged).items()]
        return [*lines, *self.notes]

    def slower(self) -> list[str]:
        return [n for n, s in zip(self.names, self.comparison.side, strict=True) if s > 0]

    def why_not_judged(self, name: str) -> str:
        """Why it is not known whether B is slower in that row; empty if it is known."""
        rows = self.sorted_rows
        if why := (rows.failed | rows.unjudged).get(name):
            return why
        if name in self.too_few:
            return "too few processes gave a sound time"
        return "" if name in self.names else "has no sound time"

    def markdown(self) -> str:
        """A summary and the rows that matter, for a pull request's comment."""
        c = self.comparison
        counts = {side: int((c.side == side).sum()) for side in (1, -1, 0)}
        lines = ["## gpubench gate", ""]
        if self.rehearsal:
            lines += [f"**{REHEARSAL}**", ""]
        verdict = {0: "no regression", 1: "**REGRESSION**", 2: "**could not judge**"}
        lines += [
            f"{verdict[self.exit_code]}: {counts[1]} slower, {counts[-1]} faster, {counts[0]} "
            f"unchanged of {len(self.names)} rows; {self.rounds} fresh processes of each program.",
            "",
        ]
        lines += [f"- {escape(line)}" for line in self.problems]
        lines += [""] if self.problems else []
        # The changed ones first, then those with the largest ratio.
        order = sorted(range(len(self.names)), key=lambda i: (-abs(c.side[i]), -c.ratio[i]))
        if order:
            lines += ["| row | A | B | B / A | 95 % | q | |", "|---|---|---|---|---|---|---|"]
        for i in order[:_SHOWN]:
            word = {1: "**slower**", -1: "faster", 0: ""}[int(c.side[i])]
            lines.append(
                f"| {code_of(self.names[i])} | {si(self.a[i], 's', 4)} | {si(self.b[i], 's', 4)} | "
                f"{percent(c.ratio[i])} | {percent(c.low[i])} to {percent(c.high[i])} | "
                f"{c.q[i]:.2g} | {word} |"
            )
        if len(order) > _SHOWN:
            lines.append(f"\n{len(order) - _SHOWN} further rows are not shown.")
        return "\n".join(lines) + "\n"


def least_processes(rows: int, rate: float) -> int:
    """The fewest processes of each program that can tell one slower row of `rows` from chance.

    The smallest p-value that the Mann-Whitney test has for n against n is 2 / C(2n, n): every
    process of the one before every process of the other. The correction multiplies it by `rows`.
    """
    n = 1
    while 2 * rows > rate * math.comb(2 * n, n):
        n += 1
    return n


def statistics(
    a: np.ndarray,
    b: np.ndarray,
    settings: Settings,
    seed: int,
    resamples: int = _RESAMPLES,
    all_intervals: bool = True,
) -> Comparison:
    """Compares processes' medians `a` (rows x processes of A) with `b`, in seconds.

    Without `all_intervals` a row that the test calls unchanged has none (NaN): it decides nothing.
    """
    from scipy.stats import false_discovery_control

    ratio = np.median(b, axis=1) / np.median(a, axis=1)
    p = _mann_whitney(a, b)
    q = false_discovery_control(p, method="bh") if len(p) else p
    sure = q <= settings.false_discovery_rate
    rng = np.random.default_rng(seed)
    low, high = np.full_like(ratio, np.nan), np.full_like(ratio, np.nan)
    draws = [rng.integers(0, x.shape[1], (resamples, x.shape[1])) for x in (a, b)]
    for row in range(len(a)) if all_intervals else np.flatnonzero(sure):
        of_a, of_b = (
            np.median(x[row][drawn], axis=1) for x, drawn in zip((a, b), draws, strict=True)
        )
        low[row], high[row] = np.quantile(of_b / of_a, (0.025, 0.975))
    slower = sure & (low > 1) & (ratio > 1 + settings.gate_floor)
    faster = sure & (high < 1) & (ratio < 1 / (1 + settings.gate_floor))
    return Comparison(ratio, low, high, q, slower.astype(int) - faster.astype(int))


def _mann_whitney(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """p-values, row by row: exact, or where there are ties by the normal approximation."""
    from scipy.stats import mannwhitneyu

    both = np.sort(np.hstack([a, b]), axis=1)
    tied = (np.diff(both, axis=1) == 0).any(axis=1)
    p = np.ones(len(a))
    differ = both[:, 0] < both[:, -1] if len(a) else tied  # all alike: 1
    for rows, method in ((~tied & differ, "exact"), (tied & differ, "asymptotic")):
        if rows.any():
            p[rows] = mannwhitneyu(a[rows], b[rows], axis=1, method=method).pvalue
    return p


@dataclass(frozen=True)
class Gate:
    settings: Settings
    device: str
    extra: tuple[str, ...]
    rehearsal: bool
    seed: int
    say: Callable[[str], None]

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Held for as long as there is something to compare. ReportError if somebody else
        measures on the GPU."""
        with alone_on(self.device, health.look(self.device)):
            yield

    def compare(self, a: Path, b: Path) -> GateResult:
        """Runs both, interleaved. Raises ReportError, or CannotJudgeError where nothing ran."""
        settings = self.settings
        least = max(settings.min_processes, least_processes(1, settings.false_discovery_rate))
        if settings.rounds < least:
            raise CannotJudgeError(
                "rounds", f"{settings.rounds} are too few to find anything: at least {least}"
            )
        programs = [
            Program(
                path.resolve(),
                self.device,
                settings.suite,
                settings.mode,
                self.extra,
                settings.timeout_seconds,
            )
            for path in (a, b)
        ]
        for program in programs:
            program.checked(self.rehearsal)
        why = health.unfit(health.look(self.device), settings)
        if why:
            raise CannotJudgeError(self.device, f"is not fit to be measured: {why}")
        pattern = settings.filter or "."
        unchanged = [Unchanged(program, self.rehearsal) for program in programs]
        runs: list[list[ProcessFile]] = [[], []]
        with tempfile.TemporaryDirectory(prefix="gpubench-gate-") as folder:
            for round_ in range(1, settings.rounds + 1):
                self.say(f"round {round_} of {settings.rounds}")
                for which, program in enumerate(programs):
                    out = Path(folder) / f"{'ab'[which]}{round_}.json"
                    why = program.run(pattern, out)
                    unchanged[which].require()
                    if why:
                        raise CannotJudgeError(program.path, why)
                    file = read_process(out)
                    refuse_other_kind(file.context, program.path, self.rehearsal)
                    if file.context.interrupted:
                        raise CannotJudgeError(program.path, "was interrupted")
                    runs[which].append(file)
        return self.judge(*runs)

    def judge(self, a: Sequence[ProcessFile], b: Sequence[ProcessFile]) -> GateResult:
        """The verdict over the processes of A and B. Raises ReportError for unlike devices."""
        machines = {
            (f.environment.device, f.environment.mode, f.environment.driver) for f in (*a, *b)
        }
        if len(machines) > 1:
            raise ReportError(b[0].path.name, "and the others differ in device, driver or mode")
        for name, files in (("A", a), ("B", b)):
            if len({file.context.made_from for file in files}) > 1:
                raise CannotJudgeError(name, "was changed while it was being measured")
        rows = SortedRows.of(a, b, self.settings.min_processes)
        sound, names, notes = rows.sound, list(rows.sound[0]), []
        least = least_processes(len(names), self.settings.false_discovery_rate)
        few = [name for name in names if min(len(s[name]) for s in sound) < least]
        if few:
            notes.append(
                f"{len(few)} of {len(names)} rows have sound times of fewer than {least} "
                "processes, too few to tell one slower row from chance"
            )
            # They do not hold the others back, unless there are no others.
            names = [name for name in names if name not in few] or names
        if not names:
            notes.append("the two have no row in common that could be judged")
        # Rows of unequal counts (a throttled process) are cut to the shortest.
        length = min((len(s[name]) for s in sound for name in names), default=1)
        if length < max((len(s[name]) for s in sound for name in names), default=1):
            short = next(name for name in names if min(len(s[name]) for s in sound) == length)
            notes.append(
                f"{short} has sound times of {length} processes only, so all rows are judged "
                "by as many"
            )
        times = [np.array([s[name][:length] for name in names]) for s in sound]
        times = [t.reshape(len(names), length) for t in times]
        comparison = statistics(times[0], times[1], self.settings, self.seed)
        medians = [np.median(t, axis=1) for t in times]
        return GateResult(
            names, medians[0], medians[1], comparison, len(a), rows, few, notes, self.rehearsal
        )
