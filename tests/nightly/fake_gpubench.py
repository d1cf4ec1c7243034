"""Stands in for a gpubench with a GPU: takes its flags, writes its result files.

What it "measures" stands in the JSON file beside it, NAME.json for a program called NAME:
`rows` (seconds by name), `noise` (of a process, relative, at most), `gpu` (is there one),
`device_kind`, `context`, `counters`, `failed` and `skipped` (reasons by name), `log` (a file that
says who measured), `kills` (the signal that the process which measures so manieth sends to the one
that started it), `until` (a file that it waits for before it writes, half a minute at most).
"""

import json
import os
import re
import sys
import time

with open(sys.argv[0] + ".json") as file:  # noqa: PTH123
    world = json.load(file)
flags = dict(flag.partition("=")[::2] for flag in sys.argv[1:])
kind = world.get("device_kind", "cuda")
if "--list_devices" in flags:
    found = "  cuda:0   NVIDIA Fake" if world.get("gpu", True) else "  none that it can use"
    print(f"CUDA devices\n{found}\nModel devices\n  model:h200-sxm  NVIDIA H200")
    sys.exit(0)
names = dict.fromkeys([*world["rows"], *world.get("failed", {}), *world.get("skipped", {})])
names = [name for name in names if re.search(flags.get("--benchmark_filter", "."), name)]
if "--benchmark_list_tests" in flags:
    print("\n".join(names))
    sys.exit(0)
if "log" in world:  # its name, one letter, for each process that measures
    with open(world["log"], "a") as file:  # noqa: PTH123
        file.write(sys.argv[0][-1])
    manieth = str(os.stat(world["log"]).st_size)  # noqa: PTH116
    if manieth in world.get("kills", {}):
        os.kill(os.getppid(), world["kills"][manieth])
end = time.monotonic() + 30
while not os.path.exists(world.get("until", "/")) and time.monotonic() < end:  # noqa: PTH110
    time.sleep(0.005)
chance = int.from_bytes(os.urandom(4)) / 2**31 - 1  # from -1 to 1
factor = 1 + world.get("noise", 0.0) * chance
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
    "date": "2026-11-21T02:00:00+00:00",
    "host_name": "fake",
    "schema_version": 1,
    "device_kind": kind,
    "device": "fake",
    "device_title": "NVIDIA Fake",
    "driver_version": "580",
    "cuda_version": "13.0",
    "compiler": "nvcc",
    "compiler_flags": "-O3",
    "git_commit": "c0ffee",
    "mode": flags.get("--mode", "cold"),
    **world.get("context", {}),
}
key, _, value = flags.get("--benchmark_context", "none=").partition("=")
context[key] = value
with open(flags["--benchmark_out"], "w") as file:  # noqa: PTH123
    json.dump({"context": context, "benchmarks": rows}, file)
sys.exit(1 if world.get("failed") else 0)
