"""Result files of version 1, in which a reader has to guess what version 2 says.

What version 2 states and can be derived is derived here, once, when a file is read; what cannot is
absent. Nothing else in this package infers what a row is about.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from gpubench_reports.common.units import arithmetic_unit

SCHEMA_VERSION = 1

# What one step of a swept argument was; an axis that is not here had no unit.
AXIS_UNITS = {
    "stride": "elements",
    "offset": "elements",
    "bytes": "bytes per lane",
    "block": "threads",
    "record": "words",
    "window": "bytes",
    "size": "bytes",
    "n": "elements",
    "m": "elements",
    "k": "elements",
    "align": "bytes",
    "seq": "tokens",
    "head_dim": "elements",
    "row": "bytes",
    "table": "bytes",
    "columns": "numbers",
    "bins": "words",
    "bucket": "bytes",
    "launches": "in a row",
    "us": "µs",
    "every": "steps",
    "warps": "resident per SM",
    "unroll": "accesses in flight per thread",
    "ilp": "chains per thread",
    "lanes": "that share a word",
    "eighths": "FMAs per element × 8",
    "edge": "of a thread's tile",
    "tile": "bytes",
    "stages": "tiles in shared memory",
    "fields": "words",
    "ways": "paths",
    "ratio": "one in this many has all the work",
    "ranks": "GPUs",
    "chunks": "of the same bytes in all",
    "values": "kept per thread",
}

# The figures that a row could be judged by, the first that it has before the others, and whether
# more of it is better.
_HEADLINES = {
    "latency_seconds": ("s", "lower"),
    "load_cycles": ("clocks", "lower"),
    "items_per_second": ("/s", "higher"),
    "useful_bytes_per_second": ("B/s", "higher"),
    "flops_per_second": ("FLOP/s", "higher"),
    "seconds": ("s", "lower"),
}
_LAW_TOLERANCE = 0.02
# Terms are those of a row's longest kernel: of a row of several they say nothing of the whole.
_ONE_KERNEL = 0.1
_CACHES = ("l2", "l1", "shared")
_NOT_GATED = "; not gated: "


def roof_unit(kind: str, name: str) -> str:
    """What a roof counts."""
    return "B/s" if kind == "bandwidth" else arithmetic_unit(name)


def notes_of(note: str) -> list[str]:
    """The notes that the one text of a row was put together from."""
    said, gate, why = note.partition(_NOT_GATED)
    return [part for part in (said, f"not gated: {why}" if gate else "") if part]


def complete(records: Iterable[dict[str, Any]], memory: Mapping[str, float]) -> None:
    """Adds to `records` (those of a whole file that have a time) what version 2 states of a row.

    `memory`: the bandwidths of the device file by level [bytes/s], which the terms of a prediction
    were made with.
    """
    kernels: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        record["arithmetic_unit"] = arithmetic_unit(
            record["roof"], record["label"], record["arguments"].get("dtype")
        )
        record["bytes"] = _bytes_of(record, memory)
        kernels.setdefault((record["concept"], record["kernel"]), []).append(record)
    for rows in kernels.values():
        _choose_headlines(rows)


def _choose_headlines(rows: list[dict[str, Any]]) -> None:
    """The figure that each row of one kernel is judged by: the first that it has, unless its law
    (law * law_ratio is the measured figure) says that it is another one; of two figures that fit,
    the one of the kernel's other rows."""
    fitting = [_about_which_the_law_speaks(row) for row in rows]
    clear = [found[0] for found in fitting if len(found) == 1]
    for row, found in zip(rows, fitting, strict=True):
        # At one FLOP a byte both figures fit: such a row is judged as the others of its kernel are.
        name = max(found, key=clear.count) if found else next(n for n in _HEADLINES if row[n] > 0)
        unit, better = _HEADLINES[name]
        states = math.isfinite(row["law"] * row["law_ratio"])
        row |= {
            "headline": name,
            "unit": row["arithmetic_unit"] if unit == "FLOP/s" else unit,
            "better": better,
            "value": row[name],
            "law_value": row["law"] if row["law"] > 0 and (found or not states) else math.nan,
        }


def _about_which_the_law_speaks(row: Mapping[str, Any]) -> list[str]:
    target = row["law"] * row["law_ratio"]
    return [
        name
        for name in _HEADLINES
        if row[name] > 0 and target > 0 and abs(row[name] / target - 1) < _LAW_TOLERANCE
    ]


def _bytes_of(row: Mapping[str, Any], memory: Mapping[str, float]) -> dict[str, float]:
    """The bytes that one run moved through each level, as far as the row's figures give them."""
    found = {}
    if row["arithmetic_intensity"] > 0 and row["flops_per_second"] > 0:
        flops = row["flops_per_second"] * row["seconds"]
        found["dram"] = flops / row["arithmetic_intensity"]
    terms, seconds = row["terms"], row["model_seconds"]
    longest = max((value for name, value in terms.items() if name != "launch"), default=0.0)
    launched = terms.get("launch", 0.0)
    if longest > 0 and abs(longest + launched - seconds) <= _ONE_KERNEL * seconds:
        for level in _CACHES:
            if terms.get(level, 0) > 0 and level in memory:
                found[level] = terms[level] * memory[level]
    return found
