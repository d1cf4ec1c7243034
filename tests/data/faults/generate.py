#!/usr/bin/env python3
"""Writes times.json: how long each row of the default suite takes on modelled H200s with a fault.

  tests/data/faults/generate.py PROGRAM     gpubench-model; a minute of processor time a fault

A fault is a device file in which some figures are times the factors below. tests/reports/planted.py
makes measured-looking result files of these times.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DEVICE = "h200-sxm"
DIGITS = 5

LINKS = ("nvlink_bytes_per_second", "nvlink_ring_bytes_per_second", "nvlink_sharp_bytes_per_second")
PCIE = ("pcie_h2d_bytes_per_second", "pcie_d2h_bytes_per_second")
LAUNCHES = (
    "launch_stream_seconds",
    "launch_graph_seconds",
    "launch_programmatic_seconds",
    "launch_latency_seconds",
    "kernel_floor_seconds",
)
HOST = ("launch_host_seconds", "sync_host_seconds")
TENSOR = tuple(
    f"tensor_{t}_flops_per_clock_per_sm" for t in ("fp16", "bf16", "tf32", "fp8", "int8", "fp64")
)

FAULTS: dict[str, dict[str, float]] = {
    "healthy": {},
    "dram-80": {"dram_bytes_per_second": 0.8},
    "dram-90": {"dram_bytes_per_second": 0.9},
    "dram-50": {"dram_bytes_per_second": 0.5},
    "dram-latency": {"dram_latency_cycles": 1.6},
    "l2-half": {"l2_bytes": 0.5},
    "l2-slow": {"l2_bytes_per_second": 0.6},
    "clock-60": {"sm_clock_hz": 0.6, "l2_bytes_per_second": 0.6},
    "clock-80": {"sm_clock_hz": 0.8, "l2_bytes_per_second": 0.8},
    "clock-88": {"sm_clock_hz": 0.88, "l2_bytes_per_second": 0.88},
    "slice": {
        "sm_count": 0.5,
        "dram_bytes_per_second": 0.5,
        "l2_bytes": 0.5,
        "l2_bytes_per_second": 0.5,
    },
    "tensor-70": dict.fromkeys(TENSOR, 0.7),
    "fp64-slow": {"fp64_flops_per_clock_per_sm": 0.03125},
    "shared-half": {"shared_bytes_per_clock_per_sm": 0.5},
    "pcie-x8": dict.fromkeys(PCIE, 0.5),
    "pcie-x4": dict.fromkeys(PCIE, 0.25),
    "pcie-h2d": {"pcie_h2d_bytes_per_second": 0.5},
    "pcie-d2h": {"pcie_d2h_bytes_per_second": 0.4},
    "pcie-far": {"pcie_latency_seconds": 4, "launch_latency_seconds": 1.5, "sync_host_seconds": 2},
    "pageable-slow": {"pageable_bytes_per_second": 0.4},
    "nvlink-half": dict.fromkeys(LINKS, 0.5),
    "nvlink-70": dict.fromkeys(LINKS, 0.7),
    "network-half": {"network_bytes_per_second": 0.5},
    "launch-slow": dict.fromkeys((*LAUNCHES, *HOST), 2.5),
    "host-slow": dict.fromkeys(HOST, 3),
}


def times(program: str, factors: dict[str, float]) -> dict[str, float]:
    """Seconds by row."""
    spec = json.loads((ROOT / "harness/devices" / f"{DEVICE}.json").read_text())
    for figure, factor in factors.items():
        value = spec["figures"][figure]["value"] * factor
        spec["figures"][figure]["value"] = (
            round(value) if figure in ("sm_count", "l2_bytes") else value
        )
    with tempfile.TemporaryDirectory() as folder:
        device, out = Path(folder) / f"{DEVICE}.json", Path(folder) / "run.json"
        device.write_text(json.dumps(spec))
        command = [program, f"--device=model:{device}", f"--benchmark_out={out}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(out.read_text())["benchmarks"]
    return {
        row["name"]: float(f"{row['real_time'] * 1e-6:.{DIGITS}g}")
        for row in rows
        if "real_time" in row
    }


def main() -> None:
    program = sys.argv[1]
    with ThreadPoolExecutor(2) as pool:
        found = dict(
            zip(FAULTS, pool.map(lambda f: times(program, f), FAULTS.values()), strict=True)
        )
    names = list(found["healthy"])
    columns = {fault: [seconds.get(name) for name in names] for fault, seconds in found.items()}
    text = json.dumps({"rows": names, "seconds": columns}).replace('], "', '],\n "')
    (HERE / "times.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
