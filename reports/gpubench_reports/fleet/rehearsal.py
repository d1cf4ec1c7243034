"""What the judge of fleets finds, how often it is wrong, and what it costs: on simulated fleets,
through the command that people use."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.fleet.lake import write_lake
from gpubench_reports.fleet.simulation import Noise, Plan, Planted, simulate

_BANDS = ((1.0, 1.05), (1.05, 1.10), (1.10, 2.0))  # sizes of what is planted


@dataclass(frozen=True)
class Outcome:
    """What was found in one fleet. `found` is by the factors that were planted."""

    found: dict[float, bool]
    racks: int  # found, of those planted
    firmware: bool
    false: int  # what was named and is healthy: GPUs, nodes, racks
    seconds: float
    processor_seconds: float
    bytes: int  # the most memory at one time


def rehearse(plan: Plan, fleets: int, seed: int, say: Callable[[str], None]) -> str:
    """Simulates and judges `fleets` fleets; returns a table in Markdown."""
    noise = Noise()
    outcomes = []
    for number in range(fleets):
        say(f"fleet {number + 1} of {fleets}")
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(_one(plan, noise, seed + number, Path(folder)))
    return _table(plan, noise, outcomes)


def _one(plan: Plan, noise: Noise, seed: int, folder: Path) -> Outcome:
    fleet, planted, places = simulate(plan, noise, seed)
    write_lake(fleet, folder / "lake")
    places.to_csv(folder / "inventory.csv", index=False)
    command = [sys.executable, "-m", "gpubench_reports", "fleet", str(folder / "lake")]
    command += [f"--inventory={folder / 'inventory.csv'}", "--json"]
    out = folder / "verdict.json"
    with out.open("wb") as stream:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=stream)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise ReportError("fleet", f"ended with {process.returncode}")
    return _outcome(
        json.loads(out.read_text()), planted, list(fleet.gpus["machine"]), seconds, usage
    )


def _outcome(
    verdict: dict[str, Any], planted: Planted, machines: list[str], seconds: float, usage: Any
) -> Outcome:
    named = {(finding["kind"], finding["name"]) for finding in verdict["findings"]}
    slow = {machines[gpu]: factor for gpu, (_, factor) in planted.gpus.items()}
    right = {("gpu", machine) for machine in slow} | {("rack", rack) for rack in planted.racks}
    wrong = {one for one in named - right if one[0] != "firmware"}
    return Outcome(
        {factor: ("gpu", machine) in named for machine, factor in slow.items()},
        sum(("rack", rack) in named for rack in planted.racks),
        any(kind == "firmware" for kind, _ in named),
        len(wrong),
        seconds,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )


def _table(plan: Plan, noise: Noise, outcomes: list[Outcome]) -> str:
    lines = [
        f"Simulated, not measured. {noise.line()}",
        "",
        f"| {len(outcomes)} fleets of {plan.gpus} GPUs, {plan.rows} rows each | |",
        "|---|---|",
    ]
    for low, high in _BANDS:
        hits = [
            hit for one in outcomes for factor, hit in one.found.items() if low <= factor < high
        ]
        span = (
            f"{low - 1:.0%} to {high - 1:.0%}"
            if high < _BANDS[-1][1]
            else f"{low - 1:.0%} and more"
        )
        lines.append(f"| slow GPUs found, of those slower by {span} | {sum(hits)} of {len(hits)} |")
    racks = len(plan.racks) * len(outcomes)
    false = [one.false for one in outcomes]
    lines += [
        f"| slow racks found | {sum(one.racks for one in outcomes)} of {racks} |",
        f"| slow firmware found | {sum(one.firmware for one in outcomes)} of {len(outcomes)} |",
        f"| healthy GPUs, nodes or racks named, in all fleets | {sum(false)} |",
        f"| the most in one fleet | {max(false)} |",
        f"| time, the longest | {max(one.seconds for one in outcomes):.1f} s |",
        f"| processor time, the longest | {max(one.processor_seconds for one in outcomes):.1f} s |",
        f"| memory, the most | {max(one.bytes for one in outcomes) / 1e6:.0f} MB |",
    ]
    return "\n".join(lines) + "\n"
