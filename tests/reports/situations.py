"""Ten situations in which somebody opens a report, as measured-looking files made by planted.py.

    python -m tests.reports.situations FOLDER

writes the result files and a page of each into FOLDER (from the repository's root).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.pages.html.build import build, default_path
from gpubench_reports.results.reader import ResultFile, read

from . import planted

_PREDICTED = {
    row["name"]: row["real_time"] * 1e-6 for row in planted.BASE["benchmarks"] if "real_time" in row
}
_RUN = {
    "date": "2026-11-20T02:15:00+00:00",
    "driver_version": "580.65.06",
    "cuda_version": "13.0",
    "compiler": "nvcc 13.0",
}
_A_LITTLE = 0.12  # of what the planted times have more, by the logarithm
_AFTER = {"date": "2026-11-21T02:15:00+00:00", "driver_version": "590.44.01"}


@dataclass(frozen=True)
class Situation:
    """`page` has to stand on the first screen, `console` in the first lines of `gpubench-report
    table` (of `compare`, where there is a run from before)."""

    page: tuple[str, ...]
    console: tuple[str, ...]
    fault: str = ""
    seed: int = 0
    since: str = ""  # of TIMES in planted.py: what the run before did not have


def _of(fault: str, says: str, *more: str) -> Situation:
    """One that is told by naming its fault."""
    page = ("✗ not healthy", f"Probably: {says}", *more)
    return Situation(page, ("NOT HEALTHY", f"probably: {says}"), fault)


_AFTER_THE_UPDATE = ("171 slower, 2 faster, worst -11 %", "driver 590.44.01, was 580.65.06")
_LAUNCHES_ARE_SLOW = "launches and the host's calls take 1.10 times as long"

SITUATIONS = {
    "healthy": Situation(
        ("✓ healthy", "✓ yes: 385 of 386 rows as expected, 1 low"),
        ("healthy (", "good?     yes: 385 of 386 rows as expected"),
    ),
    "slow-memory": _of(
        "device memory at 80 %",
        "device memory is slow: rows that it limits take 1.21 times as long",
        "✗ no: dram is at 79 % of expected",
    ),
    "throttled": _of(
        "throttled", "the SMs' clock is low", "the driver held the clock back in 100% of the rows"
    ),
    "half-of-l2": _of("half of L2", "L2 holds less than it should"),
    "pcie-x8": _of("PCIe x8", "PCIe takes 1.95 times as long in both directions", "24 low"),
    "one-gpu-of-eight": _of(
        "one bad GPU of eight", "GPU 5 or its links are slow: rows with it take", "15 low"
    ),
    "after-a-driver-update": Situation(
        ("✓ healthy", *_AFTER_THE_UPDATE, f"Probably: {_LAUNCHES_ARE_SLOW}"),
        ("B  healthy (", *_AFTER_THE_UPDATE, f"probably: {_LAUNCHES_ARE_SLOW}"),
        seed=3,
        since="launch-slow",
    ),
    "noisy-neighbour": _of(
        "noisy neighbour", "something else ran on the GPU or the host", "another process on the GPU"
    ),
    "spills": Situation(
        ("✓ device healthy", "Probably: kernels that spill registers take 2.14 times as long"),
        ("device healthy", "probably: kernels that spill registers take 2.14 times as long"),
        "spills",
    ),
    "no-optimisation": _of(
        "no optimisation",
        "gpubench's own kernels take 3.81 times as long",
        "compiled with -O0 -g",
    ),
}


def files(name: str, folder: Path) -> list[ResultFile]:
    """The result file of the situation, and the one from before where it has one."""
    situation = SITUATIONS[name]
    document = measured(situation.seed, situation.fault)
    paths = [folder / f"{name}.json"]
    documents = [document]
    if situation.since:
        paths.append(folder / f"{name}-before.json")
        documents = [_later(document, situation.since), document]
    for path, content in zip(paths, documents, strict=True):
        path.write_text(json.dumps(content))
    return [read(path) for path in paths]


def measured(seed: int, fault: str) -> dict[str, Any]:
    """A file of a device with the fault and the healthy device's predictions."""
    document = planted.document(seed, fault)
    document["context"] |= _RUN
    for row in document["benchmarks"]:
        if row["name"] in _PREDICTED:
            row["model_seconds"] = _PREDICTED[row["name"]]
    _measure_roofs(document)
    return document


def _measure_roofs(document: dict[str, Any]) -> None:
    """Roofs as the rows that measure them have it, and what is a fraction of them."""
    best: dict[str, list[float]] = {}
    for row in document["benchmarks"]:
        if "measures" in row and (reached := row.get("roof_fraction", row.get("law_ratio"))):
            best.setdefault(row["measures"], []).append(reached)
    found = {roof: max(reached) for roof, reached in best.items()}
    for roof in document["context"]["roofs"]:
        if roof["provenance"] == "measured":
            roof["value"] *= found.get(roof["name"], 1.0)
    for row in document["benchmarks"]:
        factor = found.get(row.get("grade_roof", ""), 1.0)
        for key in ("roof_fraction", "law_ratio"):
            if key in row:
                row[key] /= factor
        if "law" in row:
            row["law"] *= factor


def _later(document: dict[str, Any], times: str) -> dict[str, Any]:
    """The same device a night later: its noise is another, and it has a little of those times."""
    found = json.loads(json.dumps(document))
    found["context"] |= _AFTER
    column = zip(
        planted.TIMES["rows"],
        planted.TIMES["seconds"]["healthy"],
        planted.TIMES["seconds"][times],
        strict=True,
    )
    factors = {name: (after / before) ** _A_LITTLE for name, before, after in column if before}
    for row in found["benchmarks"]:
        rng = planted.chance(1, row["name"])
        seconds = row["real_time"] * 1e-6 * rng.gauss(1, 0.001) * factors.get(row["name"], 1.0)
        row["spread"] = 0.003
        planted.measure(row, seconds, rng)
    return found


def write_pages(folder: Path) -> list[Path]:
    """The result files and pages of all situations; returns the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for name in SITUATIONS:
        result, *others = files(name, folder)
        pages.append(default_path(result.path))
        pages[-1].write_bytes(build(result, others))
    return pages


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m tests.reports.situations FOLDER", file=sys.stderr)
        return 2
    for page in write_pages(Path(arguments[0])):
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
