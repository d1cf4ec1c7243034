"""How long indexing and judging take: a store of simulated measured nights, and a stopwatch."""

import hashlib
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from gpubench_reports.common.processes import usable_cpus
from gpubench_reports.nightly.judging.judge import judge_new
from gpubench_reports.nightly.judging.status import status
from gpubench_reports.nightly.reporting.page import write_page
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import SCHEMA, Night, Store, as_json

_CONTEXT = {
    "date": "",
    "host_name": "simulated",
    "schema_version": 1,
    "gpubench_version": "0.1.0",
    "device_kind": "cuda",
    "device": "simulated",
    "device_title": "Simulated, not measured",
    "driver_version": "0",
    "cuda_version": "0",
    "compiler": "none",
    "compiler_flags": "",
    "git_commit": "0" * 40,
    "git_dirty": False,
    "suite": "default",
    "mode": "cold",
    "roofs": [],
}


def make_night(store: Store, number: int, seconds: np.ndarray, verdict: bool) -> None:
    """Night `number` with one file per process; `seconds` is processes x series."""
    night = Night("bench", number, store.root / "nights" / "bench" / f"{number:06d}")
    night.path.mkdir(parents=True)
    date = (datetime(2026, 1, 1, 2, tzinfo=UTC) + timedelta(days=number)).isoformat()
    context = _CONTEXT | {"date": date}
    (night.path / "plan.json").write_bytes(as_json({"schema": SCHEMA, "began": date, "units": []}))
    files = {}
    for process, times in enumerate(seconds, start=1):
        rows = [_row(index, float(time_)) for index, time_ in enumerate(times)]
        document = {"context": context | {"nightly": f"{number} {process}"}, "benchmarks": rows}
        content = json.dumps(document, indent=1).encode()
        name = f"first-{process}-all.json"
        (night.path / name).write_bytes(content)
        files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (night.path / "done.json").write_bytes(as_json({"schema": SCHEMA, "files": files}))
    if verdict:
        (night.path / "verdict.json").write_bytes(
            as_json(
                {
                    "schema": SCHEMA,
                    "machine": "bench",
                    "night": number,
                    "judged": len(rows),
                    "learning": 0,
                    "provisional": [],
                    "events": [],
                    "missing": [],
                    "segments": [],
                }
            )
        )


def _row(index: int, seconds: float) -> dict[str, Any]:
    """A row with as many keys as a measured one has."""
    rate = 1e9 / seconds
    name = f"concept{index % 20}/kernel{index % 7}/dtype:fp32/n:{index}"
    return {
        "name": name,
        "family_index": index % 20,
        "per_family_instance_index": index,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "concept": f"concept{index % 20}",
        "kernel": f"kernel{index % 7}",
        "arguments": {"dtype": "fp32", "n": index},
        "iterations": 100,
        "real_time": seconds * 1e6,
        "cpu_time": seconds * 1e6,
        "time_unit": "us",
        "label": "dram",
        "verified": "sampled",
        "counts": "exact",
        "active_lanes": 32.0,
        "ci_high_seconds": seconds * 1.002,
        "ci_low_seconds": seconds * 0.998,
        "converged": 1.0,
        "min_seconds": seconds * 0.99,
        "moved_bytes_per_second": rate,
        "occupancy": 1.0,
        "power_w": 600.0,
        "roof_fraction": 0.9,
        "samples": 100.0,
        "sectors_per_request": 4.0,
        "sm_clock_hz": 1.98e9,
        "temperature_c": 60.0,
        "throttled": 0.0,
        "useful_bytes_per_second": rate,
    }


def benchmark(
    series: int, nights: int, processes: int, folder: Path | None, say: Callable[[str], None]
) -> str:
    """Makes the store, rebuilds its index, judges one more night; returns a Markdown table."""
    settings = Settings(processes=processes, min_processes=min(3, processes))
    made = Path(tempfile.mkdtemp(prefix="gpubench-nights-", dir=folder))
    rng = np.random.default_rng(1)
    try:
        store = Store.open(made, rehearsal=False, create=True)
        say(f"making {nights} nights of {series} series, {processes} processes per night")
        base = 1e-4 * (1 + rng.random(series))
        for number in range(1, nights + 1):
            level = base * np.exp(0.004 * rng.standard_normal(series))
            times = level * np.exp(0.004 * rng.standard_normal((processes, series)))
            make_night(store, number, times, number < nights)
        size = sum(path.stat().st_size for path in made.rglob("*.json"))
        last = made / "nights" / "bench" / f"{nights:06d}"
        aside = made / "last"
        last.rename(aside)
        with Index(store) as index:
            say("rebuilding the index")
            rebuild = _timed(lambda: index.rebuild(settings))
        aside.rename(last)
        with Index(store) as index:
            say("judging one night")
            judging = _timed(lambda: judge_new(store, index, settings))
            standing = _timed(lambda: status(store, index, settings))
            page = _timed(lambda: write_page(store, index, settings, made / "report.html"))
            values = index.rows("select count(*) from value")[0][0]
    finally:
        shutil.rmtree(made, ignore_errors=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return "\n".join(
        [
            f"| {series} series x {nights} nights: {values} values from {values * processes} rows, "
            f"{size / 1e9:.2f} GB; {usable_cpus()} cores | |",
            "|---|---|",
            f"| rebuild the index, all nights but the last | {rebuild} |",
            f"| take in and judge the last night | {judging} |",
            f"| what is open | {standing} |",
            f"| trend page | {page} |",
            f"| memory, at most | {memory / 1e6:.0f} MB |",
        ]
    )


def _timed(call: Callable[[], object]) -> str:
    """How long it took, by the clock and of the processor."""
    began, spent = time.perf_counter(), time.process_time()
    call()
    clock, processor = time.perf_counter() - began, time.process_time() - spent
    return f"{clock:.1f} s ({processor:.1f} s of a core)"
