"""Figures that only rules ask for, worked out of those that rows have."""

import math
import re

import numpy as np
import pandas as pd

from gpubench_reports.results.context import PROVENANCES_OF_RUN
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.steps import wall_of
from gpubench_reports.rules.verdicts.rulebook import HELD_BY, SHARES_OF_STEP, number_of

_CLAIMED = ("items_per_second", "useful_bytes_per_second", "flops_per_second")


def with_derived(result: ResultFile, rows: pd.DataFrame) -> pd.DataFrame:
    """`rows` with the figures that only rules ask for, NaN where they are not known."""
    nan = math.nan
    rows = rows.copy()
    stated = [roof for roof in result.context.roofs if roof.name == "dram"]
    dram = [roof.value for roof in stated if roof.provenance in PROVENANCES_OF_RUN]
    dram = dram or [roof.value for roof in stated]
    rows["clock_share"] = rows["sm_clock_hz"] / rows["sm_clock_hz"].max()
    rows["interval_share"] = (rows["ci_high_seconds"] - rows["ci_low_seconds"]) / rows["seconds"]
    rows["dram_share"] = rows["useful_bytes_per_second"] / (max(dram) if dram else nan)
    # What is counted there never was to come from DRAM.
    rows.loc[rows["label"].isin(["shared", "l1", "link", "network"]), "dram_share"] = nan
    requests = rows["wavefronts_per_request"].fillna(rows["sectors_per_request"])
    rows["requests_over_law"] = requests / rows["law_per_request"]
    rows["moved_over_useful"] = rows["moved_bytes_per_second"] / rows["useful_bytes_per_second"]
    launch = [terms.get("launch", nan) for terms in rows["terms"]]
    rows["overhead_share"] = pd.Series(launch, index=rows.index) / rows["seconds"]
    rows["zeros"] = [
        1.0 if any(value in ("zero", "zeros") for value in arguments.values()) else nan
        for arguments in rows["arguments"]
    ]
    claimed = rows[[f"claimed_{c}" for c in _CLAIMED]].bfill(axis=1).iloc[:, 0]
    true = rows[list(_CLAIMED)].where(rows[[f"claimed_{c}" for c in _CLAIMED]].notna().to_numpy())
    rows["claimed_over_true"] = claimed / true.bfill(axis=1).iloc[:, 0]
    rows["half_over_size"] = _half_over_size(rows)
    waves = pd.Series([number_of(raw.get("waves")) for raw in rows["raw"]], index=rows.index)
    rows["wave_share"] = waves / np.ceil(waves)
    penalties = [number_of(raw.get("penalty")) for raw in rows["raw"]]
    rows["slowdown"] = 1 + pd.Series(penalties, index=rows.index)
    for share, part in SHARES_OF_STEP.items():
        rows[share] = [
            number_of(raw.get(part)) / number_of(raw["step_seconds"])
            if "step_seconds" in raw and part in raw
            else nan
            for raw in rows["raw"]
        ]
    held = [wall_of(raw) for raw in rows["raw"]]
    for key, wall in HELD_BY.items():
        rows[key] = [float(one == wall) if one else nan for one in held]
    rows["tile_elements"] = [_elements(raw.get("tile")) for raw in rows["raw"]]
    return rows


def _half_over_size(rows: pd.DataFrame) -> list[float]:
    """The bytes at which each row's path reaches half of its bandwidth, as the row that carries
    the path's fit says, over the row's own."""
    paths, sizes, halves = [], [], {}
    columns = (rows[name] for name in ("concept", "kernel", "arguments", "raw"))
    for concept, kernel, arguments, raw in zip(*columns, strict=True):
        others = {name: value for name, value in arguments.items() if name != "size"}
        paths.append((concept, kernel, str(sorted(others.items()))))
        sizes.append(number_of(arguments.get("size")))
        half = number_of(raw.get("fit_half_bandwidth_bytes"))
        if half > 0:
            halves[paths[-1]] = half
    return [
        halves.get(path, math.nan) / size if size > 0 else math.nan
        for path, size in zip(paths, sizes, strict=True)
    ]


def _elements(tile: object) -> float:
    """How many results a tile such as "128x256" holds."""
    found = re.fullmatch(r"(\d{1,6})x(\d{1,6})", tile) if isinstance(tile, str) else None
    return float(found[1]) * float(found[2]) if found else math.nan
