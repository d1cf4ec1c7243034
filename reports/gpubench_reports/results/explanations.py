"""Reads NAME.explain.json: what one warp of a kernel accesses, line by line of its source."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.checking import Checker
from gpubench_reports.results.companions import companion_of
from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import ResultFile, open_document

LANES = BANKS = 32
_LARGEST_OFFSET = 1 << 62


@dataclass(frozen=True)
class Access:
    """One line of source. Figures are means over the warp's requests; `lanes` (lane to byte offset
    from the beginning of `place`) and `wavefronts` (a lane or None for each bank) those of the
    first request. `moved` and `ideal` count sectors, or wavefronts of shared memory."""

    where: str
    space: str
    kind: str
    bytes: int
    place: str
    requests: float
    active_lanes: float
    moved: float
    ideal: float
    lanes: dict[int, int]
    wavefronts: tuple[tuple[int | None, ...], ...]

    @property
    def shared(self) -> bool:
        return self.space == "shared"


@dataclass(frozen=True)
class Explanation:
    """One kernel launch of the row `name`, in the run that `context` is of."""

    name: str
    kernel: str
    warp: int
    block: tuple[int, ...]
    accesses: tuple[Access, ...]
    context: Context


def explanations_of(result: ResultFile, others: Sequence[Path] = ()) -> list[Explanation]:
    """Those beside the result, then those of `others`, which other runs wrote, of rows that the
    result has.

    Raises ReportError when a file is damaged, or explains no row of the result.
    """
    found = explanations_beside(result)
    names = {row["name"] for row in result.records}
    for path in others:
        fitting = [one for one in read(path)[1] if one.name in names]
        if not fitting:
            raise ReportError(path, f"explains no row of {result.path}")
        found += fitting
    return found


def explanations_beside(result: ResultFile) -> list[Explanation]:
    """Those that the run of `result` wrote; none when there are none, or only an older run's.

    Raises ReportError when the file beside the result is damaged.
    """
    path = companion_of(result.path, "explain.json")
    if not path.exists():
        return []
    context, explanations = read(path)
    return explanations if context == result.context else []


def read(path: Path) -> tuple[Context, list[Explanation]]:
    """Reads `path`. Raises ReportError for whatever is wrong with it."""
    check, document, context = open_document(path, "explanations")
    return context, [
        _explanation(check, f"explanation {index}", entry, context)
        for index, entry in enumerate(document["explanations"])
    ]


def _explanation(check: Checker, where: str, entry: Any, context: Context) -> Explanation:
    if not isinstance(entry, dict) or not isinstance(entry.get("accesses"), list):
        raise check.fail(where, "must be an object with a list 'accesses'")
    block = entry.get("block")
    if not isinstance(block, list) or len(block) != 3:
        raise check.fail(where, "'block' must be three whole numbers")
    return Explanation(
        name=check.text(entry, "name", where),
        kernel=check.text(entry, "kernel", where),
        warp=_whole(check, entry.get("warp"), "warp", where),
        block=tuple(_whole(check, part, "block", where) for part in block),
        accesses=tuple(
            _access(check, f"{where}, access {index}", access)
            for index, access in enumerate(entry["accesses"])
        ),
        context=context,
    )


def _access(check: Checker, where: str, access: Any) -> Access:
    if not isinstance(access, dict):
        raise check.fail(where, "must be an object")
    space = check.text(access, "space", where)
    if space not in ("global", "shared"):
        raise check.fail(where, "'space' must be 'global' or 'shared'")
    unit = "wavefronts" if space == "shared" else "sectors"
    lanes = access.get("lanes")
    if not isinstance(lanes, list) or not lanes or not all(isinstance(n, dict) for n in lanes):
        raise check.fail(where, "'lanes' must be a list of objects, one at least")
    wavefronts = access.get("wavefronts", [])
    if not isinstance(wavefronts, list) or any(
        not isinstance(banks, list) or len(banks) != BANKS for banks in wavefronts
    ):
        raise check.fail(where, f"'wavefronts' must be a list of lists of {BANKS}")
    if bool(wavefronts) != (space == "shared"):
        raise check.fail(where, "'wavefronts' belong to shared memory, and to nothing else")
    return Access(
        where=check.text(access, "where", where),
        space=space,
        kind=check.text(access, "kind", where),
        bytes=int(check.positive(access, "bytes", where)),
        place=check.text(access, "place", where),
        requests=check.positive(access, "requests", where),
        active_lanes=check.positive(access, "active_lanes", where),
        moved=check.positive(access, f"{unit}_per_request", where),
        ideal=check.positive(access, f"ideal_{unit}_per_request", where),
        lanes={
            _lane(check, entry.get("lane"), where): _whole(
                check, entry.get("offset"), "offset", where, -_LARGEST_OFFSET, _LARGEST_OFFSET
            )
            for entry in lanes
        },
        wavefronts=tuple(
            tuple(None if lane is None else _lane(check, lane, where) for lane in banks)
            for banks in wavefronts
        ),
    )


def _lane(check: Checker, value: Any, where: str) -> int:
    return _whole(check, value, "lane", where, 0, LANES - 1)


def _whole(
    check: Checker, value: Any, key: str, where: str, low: int = 0, high: int = _LARGEST_OFFSET
) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise check.fail(where, f"'{key}' must be a whole number from {low} to {high}")
    return value
