"""nccl-tests: the table that all_reduce_perf and its sisters print."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import plural
from gpubench_reports.results.checking import number_of
from gpubench_reports.results.importers.imported import (
    TYPES,
    Imported,
    lines_of,
    lost,
    row_of,
    whole_of,
)

_KERNEL = re.compile(
    r"(?<![a-z_])(all_reduce|reduce_scatter|all_gather|broadcast|alltoallv?|reduce|gather|scatter"
    r"|sendrecv|hypercube)_perf"
)
_RANK = re.compile(r"\s*#\s+Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^]]*\]\s+(.*)")
_SETTING = re.compile(r"\b(agg iters|graph|unalign): (\d+)")
# Where we say it otherwise.
_OUR_NAMES = {"alltoall": "all_to_all"}
# What n GPUs move of a table's size, as algbw counts it, and how many times algbw busbw is; 1 where
# nothing stands here.
_ALGORITHM: dict[str, Callable[[int], float]] = {"hypercube": lambda n: (n - 1) / n}
_BUS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    **dict.fromkeys(
        ("reduce_scatter", "all_gather", "alltoall", "gather", "scatter"), lambda n: (n - 1) / n
    ),
}
_PLAIN = (12, 13)  # cells of a line, without and with a root
_FLOATS = 1e-6  # numbers that lie half way between two digits, and arithmetic that is not exact
AXES = {"ranks": "GPUs", "size": "bytes"}


@dataclass
class _Run:
    """One run of a log: what stands above a table, and its lines."""

    kernel: str = ""
    ranks: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    devices: dict[str, None] = field(default_factory=dict)  # in the order of their ranks
    settings: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)  # of its columns
    out_of_bounds: int = 0

    @property
    def has_differences(self) -> bool:
        """Before 2.11, the last column was the largest difference, which is seldom 0, and not how
        many elements are wrong. That there are any is only said below the table."""
        return "error" in self.titles

    @property
    def setting(self) -> str:
        """What its times depend on and its rows' names do not say."""
        return ", ".join([plural(len(self.hosts), "host"), *self.settings])


def read(path: Path) -> Imported:
    found = Imported(path, "nccl-tests")
    # mpirun --tag-output and kubectl put something before each line.
    bare = [re.sub(r"^\[[^]]*\]<std(?:out|err)>:\s?", "", line) for line in lines_of(path)]
    runs = _runs(bare, found)
    for number, run in enumerate(runs, 1):
        which = f"run {number} of {len(runs)}: " if len(runs) > 1 else ""
        if not run.kernel:
            raise ReportError(
                path,
                f"{which}does not say which collective this was: put its command line, such as "
                "'# all_reduce_perf -g 8', above the table",
            )
        if not run.ranks:
            raise ReportError(
                path, f"{which}has no '# Rank' lines, so the number of GPUs is not known"
            )
        if "cputime" in run.titles:
            raise ReportError(
                path,
                f"{which}gives the host's time of each call (-C 1), not that of the collective",
            )
        found.measured_on(*run.devices)
        for cells in run.table:
            for row in _rows(run, cells):
                found.add(row, run.setting)
    return found


def _runs(lines: list[str], found: Imported) -> list[_Run]:
    """The runs of a log. What follows a table and says something of a run begins the next one."""
    runs = [_Run()]

    def next_one() -> _Run:
        if runs[-1].table:
            runs.append(_Run())
        return runs[-1]

    for line in lines:
        cells = line.split()
        named = _KERNEL.search(line) if "concluded" not in line else None
        if match := _RANK.match(line):
            run = next_one()
            run.ranks.add(match.group(1))
            run.hosts.add(match.group(2))
            run.devices[clean(match.group(3).strip())] = None
        elif match := re.match(r"\s*# nccl-tests version (\S+)", line):
            next_one()
            found.made_by(clean(match.group(1)))
        elif re.match(r"\s*#\s+size\s+count\s", line):
            next_one().titles = cells[1:]
        elif match := re.match(r"\s*# Out of bounds values : (\d+)", line):
            runs[-1].out_of_bounds = whole_of(match.group(1)) or 0
        elif re.match(r"\s*# nThread ", line):
            next_one().settings = [f"{what} {how}" for what, how in _SETTING.findall(line)]
        elif match := re.match(r"\s*# (Blocking Enabled.*)", line):
            next_one().settings.append(clean(match.group(1).strip()))
        elif named:
            next_one().kernel = named.group(1)
        elif plain := _plain(cells, runs[-1].titles):
            runs[-1].table.append(plain)
    return [run for run in runs if run.table]


def _plain(cells: list[str], titles: list[str]) -> list[str]:
    """A line of a table without the columns that --report_timestamps and the report of iterations
    add; empty for a line of something else, and for one that was cut short."""
    if len(cells) < 2 or whole_of(cells[0]) is None or whole_of(cells[1]) is None:
        return []
    if not titles:
        return cells if len(cells) in _PLAIN else []
    of_cell = [title for title in titles for _ in range(2 if title == "timestamp" else 1)]
    if len(of_cell) != len(cells):
        return []
    pairs = zip(cells, of_cell, strict=True)
    return [cell for cell, title in pairs if title != "timestamp" and not title.startswith("i_")]


def _operation(cells: list[str]) -> dict[str, str]:
    """What a line says of the reduction and of the root, unless they are those of a run that does
    not choose: the suite's own names have neither."""
    found = {}
    for cell in cells:
        if re.fullmatch(r"-?[0-9]+", cell):
            if (whole_of(cell) or 0) > 0:
                found["root"] = cell
        elif cell not in ("sum", "none"):
            found["redop"] = cell
    return dict(sorted(found.items()))


def _rows(run: _Run, cells: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of one line of a table."""
    # In place is the last four cells, out of place the four before them.
    size = whole_of(cells[0])
    for place, (time, algorithm, bus, wrong) in (("out", cells[-8:-4]), ("in", cells[-4:])):
        arguments = {
            "dtype": TYPES.get(cells[2], cells[2]),
            "place": place,
            "ranks": len(run.ranks),
            **_operation(cells[3:-8]),
            "size": size,
        }
        seconds = number_of(time) * 1e-6
        name = (_OUR_NAMES.get(run.kernel, run.kernel), arguments)
        if time == "N/A":  # a collective that cannot be run in place
            continue
        if not seconds > 0:
            yield row_of("all_reduce", *name, seconds)
            continue
        algorithm_rate, bus_rate = _rates(run, size or 0, time, algorithm, bus)
        row = row_of(
            "all_reduce",
            *name,
            seconds,
            judged_by="useful_bytes_per_second",
            useful_bytes_per_second=algorithm_rate,
            algorithm_bytes_per_second=algorithm_rate,
            bus_bytes_per_second=bus_rate,
        )
        why = _why_failed(run, wrong)
        yield lost(row, "failed", why) if why else row


def _rates(run: _Run, size: int, time: str, algorithm: str, bus: str) -> tuple[float, float]:
    """algbw and busbw, in bytes per second: from the time, which has more digits, where that rounds
    to what is printed; else as printed."""
    ranks = len(run.ranks)
    moved = size * _ALGORITHM.get(run.kernel, _all)(ranks)
    rates = (moved, moved * _BUS.get(run.kernel, _all)(ranks))
    micro = number_of(time)
    found = []
    for printed, of_rate in zip((algorithm, bus), rates, strict=True):
        exact = of_rate / micro * 1e-3  # in GB/s
        known = number_of(printed)
        rounding = (_last_digit(printed) + exact * _last_digit(time) / micro) / 2
        is_same = abs(exact - known) <= rounding * (1 + _FLOATS)
        found.append((exact if is_same else known) * 1e9)
    return found[0], found[1]


def _all(ranks: int) -> float:
    return 1.0


def _last_digit(number: str) -> float:
    """What the last digit of a decimal number counts."""
    return float(10.0 ** -len(number.partition(".")[2]))


def _why_failed(run: _Run, wrong: str) -> str:
    """Empty where the result was right; `wrong` is the last column."""
    if not run.has_differences:
        return f"{wrong} wrong elements" if number_of(wrong) > 0 else ""
    if run.out_of_bounds == 0:
        return ""
    values = plural(run.out_of_bounds, "value")
    return f"{values} out of bounds; the log does not say in which rows"
