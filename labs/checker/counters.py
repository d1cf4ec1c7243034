"""Grades what the kernels cost: counts of requests, and the lines that are to blame."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from .build import Program
from .course import Lab
from .report import Part, excerpt
from .running import explained

_MOST_LINES = 120  # five accesses with their views


def view_of(text: str, access: dict[str, Any]) -> list[str]:
    """The part of the explanation's text that is about this access."""
    # A line may name global and shared memory, of which each has its own part.
    begin = (
        re.escape(f"  {access['where']}: {access['kind']} of ") + rf"[^\n]*, {access['space']}: "
    )
    found = re.search(rf"^{begin}.*?(?=^  \S+:\d+: |^wrote |\Z)", text, re.S | re.M)
    return found[0].rstrip().splitlines()[:24] if found else []


def grade_counters(
    lab: Lab,
    program: Program,
    here: Path,
    device: str,
    seed: int,
    rows: dict[str, dict[str, Any]],
    part: Part,
) -> None:
    if not lab.limits and not lab.requires:
        return
    faults: list[str] = []
    # A program of the host's has no accesses of its own to look at, and its lab no limits for them.
    looked_at = [name for name in rows if name.startswith("lab/timed") and lab.limits]
    for row in looked_at:
        data, text = explained(program, here, device, seed, row)
        seen: set[str] = set()
        words = 0.0
        for explanation in data["explanations"]:
            for access in explanation["accesses"]:
                faults += costly(lab, access, text, seen)
                # An atomic returns what it has read.
                if access["space"] == "global" and access["kind"] in ("load", "atomic"):
                    words += access["requests"] * access["bytes"] / 4
        if words > lab.limits.get("loads_a_lane", math.inf):
            faults.append(
                f"{row}: a lane of the first warp loads {words:g} words of global memory, and "
                f"{lab.limits['loads_a_lane']:g} are enough: keep what was loaded"
            )
    for row in looked_at:
        faults += excessive(lab, row, rows[row])
    for wanted in lab.requires:
        faults += wanted.unmet(rows)
    if faults:
        part.lines += excerpt(faults, _MOST_LINES)
        return
    part.points = part.of
    part.lines.append("no line asks for more than it has to")


# The compiler may join such accesses; the model counts what is written (docs/model.md).
COPY_VECTORS = (
    "      If these are members of a vector, copy it as a whole, once: const float4 v = in[i], not "
    "in[i].x or a reference to in[i]"
)


def costly(lab: Lab, access: dict[str, Any], text: str, seen: set[str]) -> list[str]:
    """A line of the solution that costs more than the lab allows, with the warp view."""
    unit = "sectors" if access["space"] == "global" else "wavefronts"
    limit = lab.limits.get(f"{access['space']}_excess", math.inf)
    cost, ideal = access[f"{unit}_per_request"], access[f"ideal_{unit}_per_request"]
    this = f"{access['where']} {access['kind']} {access['place']}"
    if this in seen or cost <= limit * ideal:
        return []
    seen.add(this)
    told = [
        f"{access['where']}: this {access['kind']} costs {cost:g} {unit} per request; {ideal:g} "
        "would be enough:",
        *view_of(text, access),
    ]
    if access["bytes"] == 4 and cost / ideal in (2, 4):  # what members of float2 and float4 cost
        told.append(COPY_VECTORS)
    return told


# What each limit is called among a row's counters, which are about all warps and not about one.
OF_ALL_WARPS = {
    "global_excess": ("global_excess", "sectors"),
    "shared_excess": ("shared_excess", "wavefronts"),
    "loads_a_lane": ("loaded_words", "words"),
}
# What hides from all of these: to a lane that asks alone, little is all that it has to ask for.
OF_THE_WORK = {
    "global_requests": "requests to global memory per 32 words of the work",
    "global_sectors": "sectors of global memory per 8 words of the work",
    "shared_wavefronts": "wavefronts of shared memory per 32 words of the work",
    "idle_wavefronts": "wavefronts of shared memory for idle lanes, per 32 words of the work",
}
SLACK = 1.02  # the last block, and the last warp of a block, may have less to do


def excessive(lab: Lab, name: str, row: dict[str, Any]) -> list[str]:
    """A limit that all warps together exceed, whatever the one does that is shown."""
    faults = []
    for limit, (key, unit) in OF_ALL_WARPS.items():
        most, found = lab.limits.get(limit, math.inf), row.get(key, 0.0)
        if found <= most * SLACK:
            continue
        what = "words that a thread loads" if unit == "words" else f"{unit}, over the fewest,"
        faults.append(f"{name}: the {what} are {found:.3g} in all warps; {most:g} is the limit")
    for limit, what in OF_THE_WORK.items():
        most, found = lab.limits.get(limit, math.inf), row.get(limit, 0.0)
        if found > most * SLACK:
            faults.append(
                f"{name}: {found:.3g} {what}, in all warps; {most:g} is the limit: lanes take "
                "turns, or are idle, or ask again"
            )
    return faults
