#!/usr/bin/env python3
"""Stands in for a gpubench with a GPU: takes its flags, writes its result files.

What it "measures" stands in the JSON file beside it, NAME.json for a program called NAME:
`rows` (seconds by name), `noise` (of a process, relative), `gpu` (is there one), `device_kind`,
`context`, `counters`, `failed`, `skipped` (reasons by name), `sleep` (seconds before it writes).
"""

import json
import os
import random
import re
import sys
import time
from pathlib import Path

world = json.loads(Path(sys.argv[0]).with_suffix(".json").read_text())
flags = dict(flag.partition("=")[::2] for flag in sys.argv[1:])
kind = world.get("device_kind", "cuda")
if "--list_devices" in flags:
    found = "  cuda:0   NVIDIA Fake" if world.get("gpu", True) else "  none that it can use"
    print(f"CUDA devices\n{found}\nModel devices\n  model:h200-sxm  NVIDIA H200")
    sys.exit(0)
names = [*world["rows"], *world.get("failed", {}), *world.get("skipped", {})]
names = [name for name in names if re.search(flags.get("--benchmark_filter", "."), name)]
if "--benchmark_list_tests" in flags:
    print("\n".join(names))
    sys.exit(0)
if "sleep" in world:
    time.sleep(world["sleep"])
chance = random.Random(os.urandom(8))
factor = 1 + world.get("noise", 0.0) * chance.gauss(0, 1)
rows = []
for name in names:
    row = {"name": name, "run_type": "iteration"}
    if name in world.get("failed", {}):
        row |= {"error_occurred": True, "error_message": world["failed"][name]}
    elif name in world.get("skipped", {}):
        row |= {"skipped": True, "skip_reason": world["skipped"][name]}
    else:
        seconds = world["rows"][name] * factor
        row |= {"real_time": seconds * 1e6, "time_unit": "us", **world.get("counters", {})}
    rows.append(row)
context = {
    "date": "2026-11-21T02:00:00+00:00", "host_name": "fake", "schema_version": 1,
    "device_kind": kind, "device": "fake", "device_title": "NVIDIA Fake", "driver_version": "580",
    "cuda_version": "13.0", "compiler": "nvcc", "compiler_flags": "-O3", "git_commit": "c0ffee",
    "mode": flags.get("--mode", "cold"), **world.get("context", {}),
}  # fmt: skip
key, _, value = flags.get("--benchmark_context", "none=").partition("=")
context[key] = value
out = Path(flags["--benchmark_out"])
out.write_text(json.dumps({"context": context, "benchmarks": rows}))
sys.exit(1 if world.get("failed") else 0)
