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
    found = Imported(path, "nvbench")
    version = document.get("meta")
    for key in ("version", "nvbench", "string"):
        version = version.get(key) if isinstance(version, dict) else None
    if isinstance(version, str):
        found.made_by(clean(version))
    # All devices of the machine, of which the states need not have used all.
    devices = {_number_of(device, "id"): device for device in _objects(document["devices"])}
    check = Checker(path)
    for number, bench in enumerate(document["benchmarks"], start=1):
        if not isinstance(bench, dict) or not isinstance(bench.get("states"), list | None):
            raise check.fail("benchmarks", "each must be an object with a list of 'states'")
        name = check.text(bench, "name", "benchmark")
        for state in bench.get("states") or []:
            if not isinstance(state, dict):
                raise check.fail(name, "each of its 'states' must be an object")
            if device := devices.get(_number_of(state, "device")):
                found.measured_on(clean(str(device.get("name", ""))))
            which = f"benchmark {number}, state {clean(str(state.get('name')))}"
            for row in _state(name, state, several=len(devices) > 1):
                found.add(row, which)
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
        arguments["device"] = _number_of(state, "device")
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
    if not (seconds > 0 and math.isfinite(seconds)):
        yield row_of("nvbench", name, arguments, seconds)
    else:
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


def _number_of(source: dict[str, Any], key: str) -> int:
    """The number of a device; 0 where it has none."""
    number = number_of(source.get(key))
    return 0 if math.isnan(number) else int(number)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
