"""Measured-looking result files of an H200 with a known fault, or with none.

The times are those of a modelled device whose file has the fault (tests/data/faults/times.json).
They are made unlike the prediction as a real device would: each kernel is off by its own factor,
each row by another, and every time has noise. What no device file can say is done to the times
here.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench_reports.rules.model_error import sigma_of

ROOT = Path(__file__).resolve().parents[2]
TIMES = json.loads((ROOT / "tests/data/faults/times.json").read_text())
BASE = json.loads((ROOT / "results/modelled/h200-sxm.json").read_text())
RATES = (
    "useful_bytes_per_second",
    "moved_bytes_per_second",
    "flops_per_second",
    "items_per_second",
    "bus_bytes_per_second",
    "algorithm_bytes_per_second",
    "roof_fraction",
    "law_ratio",
)
CLOCK_HZ = 1.98e9

Row = dict[str, Any]
Change = Callable[[list[Row], dict[str, float], dict[str, Any], random.Random], None]


@dataclass(frozen=True)
class Fault:
    """A fault: what a diagnosis of it may be called, the modelled device whose times it has, what
    is done to them (seconds by row) and to what else the file says."""

    right: tuple[str, ...]
    times: str = "healthy"
    change: Change | None = None
    evidence: dict[str, Any] = field(default_factory=dict)  # of every row


def slower(factor: float, which: Callable[[Row], bool]) -> Change:
    def change(rows, seconds, context, rng):
        for row in rows:
            if which(row):
                seconds[row["name"]] *= factor

    return change


def slower_part(factor: float, begin: float, end: float) -> Change:
    def change(rows, seconds, context, rng):
        for row in rows[int(begin * len(rows)) : int(end * len(rows))]:
            seconds[row["name"]] *= factor

    return change


def neighbour(rows, seconds, context, rng):
    for row in rows:
        seconds[row["name"]] *= 1 + rng.expovariate(1 / 0.25)
        row["spread"] = rng.uniform(0.03, 0.15)
        row["converged"] = float(rng.random() > 0.4)


def eight_gpus(rows, seconds, context, rng):
    """Pairs of eight GPUs, of which number five has slow links."""
    pattern = next(row for row in rows if row["name"] == "topology/copy/from:0/to:1")
    for a in range(8):
        for b in range(8):
            name = f"topology/copy/from:{a}/to:{b}"
            if a == b or name in seconds:
                continue
            row = copy.deepcopy(pattern) | {"name": name, "run_name": name}
            row["arguments"] = {"from": a, "to": b}
            rows.append(row)
            seconds[name] = seconds[pattern["name"]] * (1.8 if 5 in (a, b) else 1.0)


def spilled(rows, seconds, context, rng):
    for row in rows:
        if row["concept"] in ("registers", "gemm_ladder", "attention"):
            seconds[row["name"]] *= 2.2
            row["local_bytes"] = 256.0


def unoptimised(rows, seconds, context, rng):
    context["compiler_flags"] = " -O0 -g"
    own = ("fp32", "fp64", "issue", "shared", "l1", "fp16x2", "int32", "bf16x2")
    libraries = ("transfer", "all_reduce", "tile_alignment", "launch_overhead", "host_sync")
    for row in rows:
        if row.get("label") in own and row["concept"] not in libraries:
            seconds[row["name"]] *= rng.uniform(2.5, 4.5)


def of(concept: str, kernel: str = "") -> Callable[[Row], bool]:
    return lambda row: row["concept"] == concept and row["kernel"].startswith(kernel)


THROTTLED = {"throttled": 1.0}
FAULTS: dict[str, Fault] = {
    "device memory at 80 %": Fault(("device_memory",), "dram-80"),
    "device memory at 90 %": Fault(("device_memory",), "dram-90"),
    "device memory at half": Fault(("device_memory",), "dram-50"),
    "ECC on": Fault(("device_memory",), "dram-90", evidence={"device_state": {"ecc": True}}),
    "DRAM latency": Fault(("memory_latency",), "dram-latency"),
    "half of L2": Fault(("l2_capacity",), "l2-half"),
    "slow L2": Fault(("l2_bandwidth",), "l2-slow"),
    "clock at 60 %": Fault(("clock",), "clock-60"),
    "clock at 80 %": Fault(("clock",), "clock-80"),
    "clock at 88 %": Fault(("clock",), "clock-88"),
    "throttled": Fault(
        ("clock",), "clock-80", evidence=THROTTLED | {"sm_clock_hz": 0.8 * CLOCK_HZ}
    ),
    "MIG slice": Fault(("slice",), "slice"),
    "power cap of the Tensor Cores": Fault(("tensor_cores",), "tensor-70"),
    "slow fp64": Fault(("fp64",), "fp64-slow"),
    "half of shared memory's bandwidth": Fault(("shared_memory",), "shared-half"),
    "PCIe x8": Fault(("pcie",), "pcie-x8"),
    "PCIe x4": Fault(("pcie",), "pcie-x4"),
    "PCIe slow to the device": Fault(("pcie_to_device",), "pcie-h2d"),
    "PCIe slow from the device": Fault(("pcie_from_device",), "pcie-d2h"),
    "remote NUMA node": Fault(("host_far", "launch", "host"), "pcie-far"),
    "slow pageable copies": Fault(("pageable",), "pageable-slow"),
    "NVLink at half": Fault(("nvlink",), "nvlink-half"),
    "NVLink at 70 %": Fault(("nvlink",), "nvlink-70"),
    "slow network": Fault(("network",), "network-half"),
    "slow launches": Fault(("launch",), "launch-slow"),
    "slow host": Fault(("host", "host_far", "launch"), "host-slow"),
    "everything slow": Fault(("everything",), change=slower(1.3, lambda row: True)),
    "one bad GPU of eight": Fault(("gpu",), change=eight_gpus),
    "noisy neighbour": Fault(("neighbour",), change=neighbour),
    "spills": Fault(("spills",), change=spilled),
    "no optimisation": Fault(("own_code",), change=unoptimised),
    "cold start": Fault(("early",), change=slower_part(1.3, 0, 0.2)),
    "heat in the end": Fault(("late", "clock"), change=slower_part(1.25, 0.6, 1)),
    "one kernel": Fault(("kernel",), change=slower(1.8, of("stream", "copy"))),
    "another kernel": Fault(("kernel",), change=slower(2.0, of("bank_conflicts"))),
}


def chance(seed: int, *names: str) -> random.Random:
    """A generator for one thing, by its names: other rows come and go without changing it."""
    return random.Random("/".join((str(seed), *names)))


def document(seed: int, fault: str = "", error: float = 1.0) -> dict[str, Any]:
    """A result file with the fault. `error` scales how far the prediction is off."""
    rng = random.Random(seed)
    planted = FAULTS[fault] if fault else Fault(())
    found = copy.deepcopy(BASE)
    context = found["context"]
    context["device_kind"] = "cuda"
    for roof in context["roofs"]:
        if roof["provenance"] == "modelled":
            roof["provenance"] = "measured"
    column = dict(zip(TIMES["rows"], TIMES["seconds"][planted.times], strict=True))
    rows = [row for row in found["benchmarks"] if column.get(row["name"])]
    seconds = {row["name"]: column[row["name"]] for row in rows}
    overall = 1 + rng.uniform(0, 0.06)
    own = {
        (row["concept"], row["kernel"]): chance(seed, row["concept"], row["kernel"]).gauss(
            0, 0.5 * error * sigma_of(row["concept"], row["kernel"])
        )
        for row in rows
    }
    for row in rows:
        row["spread"] = 0.003
        row["converged"] = float(chance(seed, "converged", row["name"]).random() > 0.005)
    if planted.change:
        planted.change(rows, seconds, context, rng)
    context |= {k: v for k, v in planted.evidence.items() if k == "device_state"}
    for row in rows:
        rng = chance(seed, row["name"])
        off = own[(row["concept"], row["kernel"])] + rng.gauss(0, 0.02 * error)
        time = seconds[row["name"]] * overall * 2.718281828**off
        measure(row, time * rng.gauss(1, 0.004), rng)
        row |= {"sm_clock_hz": CLOCK_HZ, "throttled": 0.0, "temperature_c": rng.uniform(50, 70)}
        row |= {k: v for k, v in planted.evidence.items() if k != "device_state"}
    found["benchmarks"] = rows
    return found


def measure(row: Row, seconds: float, rng: random.Random) -> None:
    """Lets the row take so long; its rates and its interval follow."""
    before, spread = row["real_time"] * 1e-6, row.pop("spread") * rng.uniform(0.5, 1.5)
    row["real_time"] = row["cpu_time"] = seconds * 1e6
    row["ci_low_seconds"], row["ci_high_seconds"] = seconds * (1 - spread), seconds * (1 + spread)
    for rate in RATES:
        if rate in row:
            row[rate] *= before / seconds
