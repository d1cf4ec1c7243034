"""Files that are right, small ones of every kind: what damaged inputs are made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"


def to_bytes(document: Any) -> bytes:
    return json.dumps(document).encode()


@cache
def rows_of_modelled() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / "results/version-2.json").read_bytes())
    return document


@cache
def documents() -> list[bytes]:
    """Result files of few rows, each of another kind: of both versions, measured and modelled."""
    found = []
    for version in ("version-1", "version-2"):
        document = json.loads((DATA / f"results/{version}.json").read_bytes())
        rows = document["benchmarks"]
        step = max(1, len(rows) // 4)
        roofs = document["context"].get("roofs", [])[:3]
        context = document["context"] | {"roofs": roofs}
        for kind in ("cuda", "model"):
            few = rows[:: step + (kind == "model")][:4]
            found.append(to_bytes({"context": context | {"device_kind": kind}, "benchmarks": few}))
    odd = document["benchmarks"][:2]
    odd[0] = odd[0] | {"skipped": True, "skip_reason": "no such unit"}
    odd[1] = odd[1] | {"error_occurred": True, "error_message": "wrong"}
    found.append(to_bytes({"context": context, "benchmarks": odd + document["benchmarks"][2:4]}))
    return found


def measured() -> bytes:
    """A measured result file of version 2."""
    return documents()[2]


def steps() -> list[bytes]:
    """A training step with and without a switch, measured and modelled."""
    document = json.loads((ROOT / "results/modelled/h200-sxm.json").read_bytes())
    rows = [row for row in document["benchmarks"] if row.get("concept") == "training_step"]
    context = document["context"] | {"roofs": []}
    return [
        to_bytes({"context": context | {"device_kind": kind}, "benchmarks": rows[:2]})
        for kind in ("cuda", "model")
    ]


def devices() -> list[bytes]:
    return [(ROOT / f"harness/devices/{name}.json").read_bytes() for name in ("h200-sxm", "mi300x")]


def traces() -> list[bytes]:
    document = json.loads((ROOT / "reports/gallery/h200-sxm-programs.trace.json").read_bytes())
    events = document["traceEvents"]
    named = [event for event in events if event["ph"] == "M"]
    few = [*named[:8], *[e for e in events if e["ph"] == "X" and e["pid"] == named[0]["pid"]][:6]]
    context = document["otherData"]
    context["roofs"] = context.get("roofs", [])[:1]
    return [to_bytes(document | {"otherData": context, "traceEvents": few})]


def explanations() -> list[bytes]:
    access = {
        "where": "kernels/coalescing.cuh:31",
        "space": "global",
        "kind": "load",
        "bytes": 4,
        "place": "input",
        "requests": 8,
        "active_lanes": 32,
        "sectors_per_request": 8,
        "ideal_sectors_per_request": 4,
        "lanes": [{"lane": lane, "offset": 8 * lane} for lane in range(4)],
    }
    shared = {key: value for key, value in access.items() if "sectors" not in key}
    shared |= {
        "space": "shared",
        "wavefronts_per_request": 2,
        "ideal_wavefronts_per_request": 1,
        "wavefronts": [[0, *[None] * 31], [*[None] * 31, 1]],
    }
    context = rows_of_modelled()["context"] | {"roofs": []}
    entry = {"name": "a/b/n:1", "kernel": "k", "block": [0, 0, 0], "warp": 0}
    entry["accesses"] = [access, shared]
    return [to_bytes({"context": context, "explanations": [entry]})]


def series() -> list[bytes]:
    line = {
        "date": json.loads(documents()[2])["context"].get("date", ""),
        "name": "a/b/n:1",
        "verdict": "steady",
        "figure": "flops_per_second",
        "seconds": [0.1, 0.2, 0.3],
        "rate": [1e12, 1.1e12, None],
        "sm_clock_hz": [1.9e9, None, 1.8e9],
        "power_w": [600, 650.5, None],
        "temperature_c": [50, 60, 70],
        "reasons": [None, "power cap", ""],
    }
    return [to_bytes(line) + b"\n" + to_bytes(line | {"figure": "seconds"}) + b"\n"]


def journal() -> list[bytes]:
    head = {"journal": 1, "command": ["./gpubench", "--device=model:h200-sxm"], "same": {}}
    rows = [{"row": {"name": "a/b/n:1"}}, {"row": {"name": "a/b/n:2"}}]
    return [b"".join(to_bytes(line) + b"\n" for line in (head, *rows))]


def profiles() -> list[bytes]:
    from gpubench_reports.comparisons import ncu_profile

    titles = ["ID", "Kernel Name", "thread Domain:Push/Pop_Range:PL_Type", *ncu_profile.metrics()]
    units = ["", "", "", *["nsecond" if "time" in name else "" for name in ncu_profile.metrics()]]
    ranged = '"<default domain>:a/b/n:1:none:none:none:none:none:none"'
    lines = [titles, units]
    for number in range(2):
        cells = [str(number), "void gpubench::read<4>(float const*)", ranged]
        lines.append([*cells, *["1,024" for _ in ncu_profile.metrics()]])
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines]
    text = "\n".join(["==PROF== Connected", *quoted, "==PROF== Disconnected"]) + "\n"
    return [text.encode(), b"==ERROR== ERR_NVGPUCTRPERM\n"]


def profile() -> bytes:
    return profiles()[0]


# The lines of a long table that say something new.
_LINES = {"babelstream.csv": (0, 1, 3, 4, 8), "gpu-stream.txt": (0, 1)}


def imports(name: str) -> Callable[[], list[bytes]]:
    def few() -> list[bytes]:
        lines = (DATA / "imports" / name).read_bytes().splitlines(keepends=True)
        kept = _LINES.get(name, range(len(lines)))
        return [b"".join(lines[number] for number in kept)]

    return few


def points() -> list[bytes]:
    names = ("azure-h100", "gpu-latency-a100", "triton-2459-h100")
    return [(DATA / f"published/{name}.json").read_bytes() for name in names]


def seconds() -> list[bytes]:
    return [to_bytes({"nvbandwidth-1": 12.5, "gpubench-bandwidth-1": 3, "nvbandwidth-2": 12})]


@cache
def job() -> bytes:
    """A result file with a few rows of each concept that a job needs."""
    document = json.loads((ROOT / "reports/gallery/h100-sxm-job.json").read_bytes())
    few: dict[tuple[Any, ...], list[Any]] = {}
    for row in document["benchmarks"]:
        ranks = row["arguments"].get("ranks", 2)
        if ranks == 2 or (ranks == 16 and row["kernel"] == "all_reduce"):
            slim = {key: value for key, value in row.items() if key != "launches"}
            few.setdefault((row["concept"], row["kernel"], ranks), []).append(slim)
    rows = [row for group in few.values() for row in (group[0], group[-1])]
    context = document["context"] | {"roofs": document["context"]["roofs"][:3]}
    return to_bytes({"context": context, "benchmarks": rows})


def models() -> list[bytes]:
    text = (ROOT / "reports/gpubench_reports/jobs/models.toml").read_bytes()
    return [b"[[models]]".join(text.split(b"[[models]]")[:3])]


def trainings() -> list[bytes]:
    names = ("bloom", "llama-3", "pytorch-fsdp-2024")
    return [(DATA / f"trainings/{name}.json").read_bytes() for name in names]


def pictures() -> list[bytes]:
    return [(ROOT / "reports/gallery/pictures.toml").read_bytes()]


def calibrating() -> bytes:
    """A modelled file with the rows that some figures of a device file follow from."""
    document = json.loads((ROOT / "results/modelled/h200-sxm.json").read_bytes())
    concepts = ("launch_overhead", "memory_hierarchy", "compute_peak")
    rows = [row for row in document["benchmarks"] if row.get("concept") in concepts]
    return to_bytes(document | {"benchmarks": rows[:-2:5] + rows[-2:]})


def counted() -> bytes:
    """A result file with the launch that the profiles are of."""
    document = json.loads(documents()[2])
    row = document["benchmarks"][0]
    row["name"] = row["run_name"] = "a/b/n:1"
    figures = {"blocks": 8, "traced_blocks": 8, "global_load_requests": 1024}
    row["launches"] = [
        {"kernel": "void gpubench::read<4>(float const*)", "times": 2, "figures": figures}
    ]
    return to_bytes(document | {"benchmarks": [row]})
