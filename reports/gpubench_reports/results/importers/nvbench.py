"""nvbench: --json."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.results.checking import Checker, number_of, parse
from gpubench_reports.results.importers.imported import Imported, lost, part, row_of

AXES: dict[str, str] = {}


def read(path: Path) -> Imported:
    document = parse(path)
    if not isinstance(document, dict) or not all(
        isinstance(document.get(key), list) for key in ("benchmarks", "devices")
    ):
        raise ReportError(path, "not the JSON of nvbench: it needs 'devices' and 'benchmarks'")
    found = Imported("nvbench")
    version = document.get("meta")
    for key in ("version", "nvbench", "string"):
        version = version.get(key) if isinstance(version, dict) else None
    if isinstance(version, str):
        found.program = f"nvbench {clean(version)}"
    devices = [device for device in document["devices"] if isinstance(device, dict)]
    if devices:
        found.title = clean(str(devices[0].get("name", "")))
    check = Checker(path)
    for bench in document["benchmarks"]:
        if not isinstance(bench, dict) or not isinstance(bench.get("states"), list | None):
            raise check.fail("benchmarks", "each must be an object with a list of 'states'")
        name = check.text(bench, "name", "benchmark")
        for state in bench.get("states") or []:
            if not isinstance(state, dict):
                raise check.fail(name, "each of its 'states' must be an object")
            found.rows += _state(name, state, several=len(devices) > 1)
    return found


def _state(name: str, state: dict[str, Any], several: bool) -> Iterator[dict[str, Any]]:
    arguments: dict[str, Any] = {}
    for axis in _objects(state.get("axis_values")):
        value = axis.get("value")
        number = number_of(value)
        if math.isfinite(number) and axis.get("type") != "string":
            arguments[part(axis.get("name"))] = int(number) if number == int(number) else number
        else:
            arguments[part(axis.get("name"))] = part(value)
    if several:
        arguments["device"] = _device_of(state)
    if state.get("is_skipped") is True:
        why = clean(str(state.get("skip_reason") or "no reason given"))
        yield lost(row_of("nvbench", name, arguments, 1.0), "skipped", why)
        return
    values = {
        str(summary.get("tag")): number_of(entry.get("value"))
        for summary in _objects(state.get("summaries"))
        for entry in _objects(summary.get("data"))
        if entry.get("name") == "value"
    }

    def of(*tags: str) -> float:
        return next((values[tag] for tag in tags if tag in values), math.nan)

    seconds = of(
        "nv/cold/time/gpu/median",
        "nv/cold/time/gpu/mean",
        "nv/batch/time/gpu/mean",
        "nv/cpu_only/time/cpu/mean",
    )
    if seconds > 0 and math.isfinite(seconds):
        items, rate = of("nv/cold/bw/item_rate"), of("nv/cold/bw/global/bytes_per_second")
        yield row_of(
            "nvbench",
            name,
            arguments,
            seconds,
            judged_by="items_per_second" if items > 0 else "useful_bytes_per_second",
            min_seconds=of("nv/cold/time/gpu/min"),
            samples=of("nv/cold/sample_size"),
            items_per_second=items,
            useful_bytes_per_second=rate,
            sm_clock_hz=of("nv/cold/sm_clock_rate/mean"),
        )


def _device_of(state: dict[str, Any]) -> int:
    number = number_of(state.get("device"))
    return 0 if math.isnan(number) else int(number)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
