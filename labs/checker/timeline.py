"""What a run of the model did when, from its --trace file: a profile of one step for a lab's page,
and where the time of a step goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST, KERNELS = "host", "compute"  # tracks: harness/records/tracks.hpp
COPIES = ("copy to device", "copy to host")
WALLS = ("compute", "bandwidth", "starved", "overhead")


@dataclass(frozen=True)
class Operation:
    track: str
    name: str
    begin: float  # [s]
    end: float


@dataclass(frozen=True)
class Kinds:
    """Which operations are one wall's, by name; all other time is overhead."""

    compute: tuple[str, ...]  # kernels, one per step
    bandwidth: tuple[str, ...]  # kernels
    starved: tuple[str, ...]  # waits of the host

    def wall_of(self, operation: Operation) -> str:
        if operation.track == KERNELS and operation.name in self.compute:
            return "compute"
        if operation.track == KERNELS and operation.name in self.bandwidth:
            return "bandwidth"
        is_starved = operation.track == HOST and operation.name in self.starved
        return "starved" if is_starved else "overhead"


def read(path: Path) -> dict[str, list[Operation]]:
    """By row, in the order of their beginnings. OSError, ValueError."""
    try:
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        rows: dict[int, str] = {}
        tracks: dict[tuple[int, int], str] = {}
        for event in (one for one in events if one["ph"] == "M"):
            if event["name"] == "process_name":
                rows[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                tracks[event["pid"], event["tid"]] = event["args"]["name"]
        found: dict[str, list[Operation]] = {name: [] for name in rows.values()}
        for event in (one for one in events if one["ph"] == "X"):
            found[rows[event["pid"]]].append(_operation(event, tracks))
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path}: not a trace: {error!r}") from None
    return {row: sorted(every, key=lambda one: one.begin) for row, every in found.items()}


def _operation(event: dict[str, Any], tracks: dict[tuple[int, int], str]) -> Operation:
    begin = 1e-6 * float(event["ts"])
    name = str(event["name"]).rpartition("::")[2]
    track = tracks[event["pid"], event["tid"]]
    return Operation(track, name, begin, begin + 1e-6 * float(event["dur"]))


def seconds_by_wall(operations: list[Operation], kinds: Kinds) -> dict[str, float]:
    """Per step. Where several go on at once, the first of WALLS has the time."""
    walls = [WALLS.index(kinds.wall_of(one)) for one in operations]
    edges = sorted(
        edge
        for one, wall in zip(operations, walls, strict=True)
        for edge in ((one.begin, 1, wall), (one.end, -1, wall))
    )
    spent = dict.fromkeys(WALLS, 0.0)
    going_on, last = [0] * len(WALLS), 0.0
    for moment, change, wall in edges:
        first = next((k for k, count in enumerate(going_on) if count > 0), -1)
        spent[WALLS[first]] += moment - last
        going_on[wall] += change
        last = moment
    steps = max(1, walls.count(WALLS.index("compute")))
    return {wall: seconds / steps for wall, seconds in spent.items()}


def profile(operations: list[Operation], kinds: Kinds) -> str:
    """A step from the middle of a run, from its compute kernel to the next step's: all that the
    device does, and for what the host waits."""
    begins = [one.begin for one in operations if kinds.wall_of(one) == "compute"]
    begin, end = begins[len(begins) // 2 - 1 :][:2]
    lines = [f"{'began [µs]':>10} {'took [µs]':>10}  "]
    for one in _shown(operations, kinds):
        if begin <= one.begin < end:
            what = {HOST: "host: ", KERNELS: "kernel: "}.get(one.track, "") + one.name
            lines.append(
                f"{1e6 * (one.begin - begin):10.2f} {1e6 * (one.end - one.begin):10.2f}  {what}"
            )
    lines[0] += "what"
    return "\n".join([*lines, f"{1e6 * (end - begin):10.2f} {'':>10}  the next step begins"])


def _shown(operations: list[Operation], kinds: Kinds) -> Iterator[Operation]:
    for one in operations:
        waits = one.name.endswith("Synchronize") or one.name in kinds.starved
        if one.track in (KERNELS, *COPIES) or (one.track == HOST and waits):
            yield one
