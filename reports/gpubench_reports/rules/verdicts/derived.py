"""Figures that only rules ask for, worked out of those that rows have."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpubench_reports.results.baselines import with_limits
from gpubench_reports.results.clock import power_capped, reference_clock
from gpubench_reports.results.context import PROVENANCES_OF_RUN
from gpubench_reports.results.intervals import width_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.steps import wall_of
from gpubench_reports.rules.verdicts.rulebook import HELD_BY, SHARES_OF_STEP, number_of, ratio

Row = dict[str, Any]

_CLAIMED = ("items_per_second", "useful_bytes_per_second", "flops_per_second")
_NOT_FROM_DRAM = ("shared", "l1", "link", "network")


def with_derived(result: ResultFile) -> list[Row]:
    """The rows that have a time, with the figures that only rules ask for, NaN where they are not
    known."""
    own = {row["name"]: row["label"] for row in result.timed}
    rows = with_limits(result).timed
    stated = reference_clock(result)
    dram = _dram(result)
    halves = _half_bandwidths(rows)
    processes = number_of(result.context.device_state.get("processes"))
    return [
        row
        | {"processes": processes, "borrowed": row["label"] != own[row["name"]]}
        | {"clock_share": ratio(row["sm_clock_hz"], stated)}
        | {"power_capped": 1.0 if power_capped(row) else math.nan}
        | _of_figures(row, dram)
        | _of_raw(row["raw"])
        | {"half_over_size": ratio(halves.get(_path(row), math.nan), _size(row))}
        for row in rows
    ]


def _dram(result: ResultFile) -> float:
    """The roof of this run, or else the one that is stated."""
    stated = [roof for roof in result.context.roofs if roof.name == "dram"]
    of_run = [roof.value for roof in stated if roof.provenance in PROVENANCES_OF_RUN]
    return max(of_run or [roof.value for roof in stated], default=math.nan)


def _of_figures(row: Row, dram: float) -> dict[str, float]:
    requests = _first(row["wavefronts_per_request"], row["sectors_per_request"])
    claimed = [(row[f"claimed_{name}"], row[name]) for name in _CLAIMED]
    claimed = [(says, true) for says, true in claimed if not math.isnan(says)]
    from_dram = row["label"] not in _NOT_FROM_DRAM
    return {
        "interval_share": width_of(row),
        "dram_share": ratio(row["useful_bytes_per_second"], dram) if from_dram else math.nan,
        "requests_over_law": ratio(requests, row["law_per_request"]),
        "moved_over_useful": ratio(row["moved_bytes_per_second"], row["useful_bytes_per_second"]),
        "overhead_share": row["terms"].get("launch", math.nan) / row["seconds"],
        "zeros": 1.0 if {"zero", "zeros"} & set(row["arguments"].values()) else math.nan,
        "claimed_over_true": ratio(
            _first(*(says for says, _ in claimed)), _first(*(true for _, true in claimed))
        ),
    }


def _of_raw(raw: Mapping[str, Any]) -> dict[str, float]:
    waves, step = number_of(raw.get("waves")), number_of(raw.get("step_seconds"))
    wall = wall_of(raw)
    return {
        "wave_share": ratio(waves, math.ceil(waves)) if waves > 0 else math.nan,
        "slowdown": 1 + number_of(raw.get("penalty")),
        **{share: ratio(number_of(raw.get(part)), step) for share, part in SHARES_OF_STEP.items()},
        **{key: float(wall == one) if wall else math.nan for key, one in HELD_BY.items()},
        "tile_elements": _elements(raw.get("tile")),
    }


def _half_bandwidths(rows: Sequence[Row]) -> dict[object, float]:
    """The bytes at which each path reaches half of its bandwidth, as the row that carries the
    path's fit says."""
    known = ((_path(row), number_of(row["raw"].get("fit_half_bandwidth_bytes"))) for row in rows)
    return {path: half for path, half in known if half > 0}


def _path(row: Row) -> object:
    """What the rows of one path have in common: all but their size."""
    others = {name: value for name, value in row["arguments"].items() if name != "size"}
    return row["concept"], row["kernel"], str(sorted(others.items()))


def _size(row: Row) -> float:
    return number_of(row["arguments"].get("size"))


def _first(*figures: float) -> float:
    """The first that is known."""
    return next((figure for figure in figures if not math.isnan(figure)), math.nan)


def _elements(tile: object) -> float:
    """How many results a tile such as "128x256" holds."""
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})", tile) if isinstance(tile, str) else None
    return float(found[1]) * float(found[2]) if found else math.nan
