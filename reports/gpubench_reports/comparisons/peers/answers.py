"""What the programs found, beside what gpubench found."""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import require_folder
from gpubench_reports.common.json_text import json_text
from gpubench_reports.comparisons.peers.programs import PEERS
from gpubench_reports.comparisons.peers.questions import WHATS, What, figure_of
from gpubench_reports.comparisons.peers.running import name_of_ours, read_seconds
from gpubench_reports.results.reader import ResultFile, read

# The half-width of an interval, over its median, for which seconds are told.
WIDTH = 0.005


@dataclass(frozen=True)
class Answer:
    """What one program found: the median of its runs, the share of it that their range is wide to
    either side (of 5 runs, a 94 % interval), and the seconds that it needs for WIDTH: those that it
    took, times the square of width / WIDTH."""

    program: str
    value: float
    width: float
    seconds: float
    runs: int


@dataclass(frozen=True)
class PeerComparison:
    what: What
    ours: Answer | None
    theirs: Answer

    @property
    def ratio(self) -> float | None:
        return self.ours.value / self.theirs.value if self.ours else None


def compare(folder: Path) -> list[PeerComparison]:
    """Every program's answers in `folder` beside ours. Raises ReportError if it holds no runs."""
    require_folder(folder)
    took = read_seconds(folder)
    if not took:
        raise ReportError(folder, "holds no runs of other programs (seconds.json)")
    runs: dict[str, list[tuple[ResultFile, float]]] = {}
    for key, seconds in took.items():
        runs.setdefault(key.rpartition("-")[0], []).append((read(folder / f"{key}.json"), seconds))
    found = []
    for what in WHATS:
        own = runs.get(name_of_ours(what), [])
        ours = _answer("gpubench", what.figure, what.ours, own) if what.ours else None
        for peer in PEERS:
            theirs = _answer(peer.name, what.figure, what.theirs, runs.get(peer.name, []))
            if theirs:
                found.append(PeerComparison(what, ours, theirs))
    return found


def as_json(found: Sequence[PeerComparison], skipped: Mapping[str, str]) -> str:
    """The answers for other programs, and why others gave none: of each program what it found in
    SI base units, how wide its runs lie and the seconds that it needs for WIDTH."""
    answers = [
        {
            "what": one.what.name,
            "figure": one.what.figure,
            "unit": one.what.unit,
            "theirs": one.theirs,
            "ours": one.ours,
            "ratio": one.ratio,
            "note": one.what.note,
        }
        for one in found
    ]
    return json_text({"answers": answers, "skipped": skipped})


def _answer(
    program: str, figure: str, rows: str, runs: Sequence[tuple[ResultFile, float]]
) -> Answer | None:
    values, seconds = [], 0.0
    for result, took in runs:
        best = max(
            (figure_of(r["raw"], figure) for r in result.timed if re.search(rows, r["name"])),
            default=math.nan,
        )
        if best > 0:
            values.append(best)
            seconds += took
    if not values:
        return None
    middle = statistics.median(values)
    width = (max(values) - min(values)) / 2 / middle if len(values) > 1 else math.nan
    return Answer(program, middle, width, seconds * (width / WIDTH) ** 2, len(values))
