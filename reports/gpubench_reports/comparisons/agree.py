"""A/A: how well runs of the same program on the same machine agree. Numbers only."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.json_text import json_text
from gpubench_reports.common.plain_text import clean
from gpubench_reports.comparisons.compare import compare
from gpubench_reports.results.doubts import Doubts, doubtful
from gpubench_reports.results.reader import ResultFile, reservations_of

# A half-width of a row's 95 % interval, over its median, that is narrow.
NARROW = 0.005
# What is equal in repetitions, by its name in a result file.
_ALIKE = (
    "device_kind",
    "device",
    "device_title",
    "mode",
    "imported_from",
    "git_commit",
    "git_dirty",
    "compiler",
    "compiler_flags",
    "driver_version",
    "cuda_version",
    "conditions",
)


@dataclass(frozen=True)
class Agreement:
    """`rows`, one a benchmark that all files have, with the columns

    name, concept
    seconds     the median of the files' medians
    spread      the largest median over the smallest, less 1
    half_width  of the 95 % interval over the median, the worst of the files; NaN without interval
    told_apart  of the pairs of files, how many a comparison calls faster or slower
    pairs       of files with intervals

    `doubts`: what keeps rows, in some file, from being figures of the device at its stated clock.
    `lost`: rows that some file lacks, with the reason in that file. If nothing but chance is
    between the runs, a comparison tells 5 % of the pairs apart.
    """

    results: tuple[ResultFile, ...]
    rows: pd.DataFrame
    doubts: Doubts
    lost: list[tuple[str, str]]

    @property
    def note(self) -> str:
        """Why the agreement says nothing of the machine; "" if it does."""
        if self.results[0].context.modelled:
            return (
                "modelled runs agree by construction: this says nothing of how well a GPU's repeat"
            )
        if (self.rows["spread"] == 0).all():
            return "every time is the same to the last digit: these are copies, not repetitions"
        return ""


def agree(results: Sequence[ResultFile]) -> Agreement:
    """Compares every pair of `results`. Raises ReportError: fewer than two, the same file twice,
    files of unlike runs, or no row that all have."""
    first = results[0]
    if len(results) < 2:
        raise ReportError(first.path, "is alone: an agreement needs two files or more")
    for a, b in itertools.combinations(results, 2):
        if a.path.samefile(b.path):
            raise ReportError(b.path, "is named twice: a file agrees with itself")
    require_repetitions(results)
    tables = [result.ok.set_index("name") for result in results]
    common = [n for n in first.rows["name"] if all(n in table.index for table in tables)]
    if not common:
        raise ReportError(first.path, "no row was measured in every file")
    seconds = np.array([table.loc[common, "seconds"] for table in tables])
    widths = np.array(
        [
            (table.loc[common, "ci_high_seconds"] - table.loc[common, "ci_low_seconds"])
            / (2 * table.loc[common, "seconds"])
            for table in tables
        ]
    )
    apart = pd.Series(0, index=common)
    pairs = pd.Series(0, index=common)
    for a, b in itertools.combinations(results, 2):
        verdicts = compare(a, b).rows.set_index("name").loc[common, "verdict"]
        apart += verdicts.isin(["faster", "slower"]).astype(int)
        pairs += (verdicts != "unknown").astype(int)
    rows = pd.DataFrame(
        {
            "name": common,
            "concept": list(tables[0].loc[common, "concept"]),
            "seconds": np.median(seconds, axis=0),
            "spread": seconds.max(axis=0) / seconds.min(axis=0) - 1,
            "half_width": widths.max(axis=0),
            "told_apart": apart.to_numpy(),
            "pairs": pairs.to_numpy(),
        }
    )
    return Agreement(tuple(results), rows, _doubts(results, common), _lost(results, common))


def _doubts(results: Sequence[ResultFile], common: Sequence[str]) -> Doubts:
    """Those of each row, in all files together."""
    found: Doubts = {}
    for result in results:
        used = [row for row in result.timed if row["name"] in common]
        for name, doubts in doubtful(result, used).items():
            said = found.setdefault(name, [])
            said += [f"{one} in {result.path.name}" for one in doubts]
    return found


def _lost(results: Sequence[ResultFile], common: Sequence[str]) -> list[tuple[str, str]]:
    lost: dict[str, str] = {}
    for result in results:
        for row in result.records:
            if row["status"] == "failed" or (row["status"] != "ok" and row["name"] in common):
                lost.setdefault(
                    row["name"], f"{row['status']} in {result.path.name}: {row['reason']}"
                )
    everything = dict.fromkeys(row["name"] for result in results for row in result.timed)
    for name in everything:
        if name not in common:
            lost.setdefault(name, "measured in some files only")
    return list(lost.items())


def require_repetitions(results: Sequence[ResultFile]) -> None:
    """Raises ReportError unless all are runs of one program, with one driver, in one mode on one
    kind of device, and no faults other than the first one's were injected."""
    first = results[0]
    for other in results[1:]:
        for key in _ALIKE:
            mine, theirs = (getattr(r.context, key) for r in (first, other))
            if mine != theirs:
                raise ReportError(
                    other.path,
                    f"is no repetition of {first.path}: "
                    f"{key} is {_stated(theirs)} here, {_stated(mine)} there",
                )


def _stated(value: str | bool | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value) if value else "not stated"


def as_json(found: Agreement) -> str:
    """The agreement for other programs; what is not known is null."""
    return json_text(
        {
            "files": [result.path for result in found.results],
            "reservations": reservations_of(found.results),
            "note": found.note,
            "concepts": by_concept(found.rows),
            "rows": found.rows,
            "doubts": [{"name": name, "why": why} for name, why in found.doubts.items()],
            "lost": [{"name": name, "why": why} for name, why in found.lost],
        }
    )


def by_concept(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a concept and one of `all`: rows, median and worst spread, how many rows have an
    interval, the share of those whose interval is narrow, and of pairs that are told apart."""
    groups = [*rows.groupby("concept", sort=False), ("all", rows)]
    lines = []
    for name, group in groups:
        known = group["half_width"].notna()
        pairs = group["pairs"].sum()
        lines.append(
            {
                "concept": name,
                "rows": len(group),
                "median": group["spread"].median(),
                "worst": group["spread"].max(),
                "intervals": known.sum(),
                "narrow": (group.loc[known, "half_width"] <= NARROW).mean(),
                "told_apart": group["told_apart"].sum() / pairs if pairs else np.nan,
            }
        )
    return pd.DataFrame(lines)
