"""Device files: what the suite knows of a device, each figure with where it is from.

They come with the package, as does the schema beside them. In a checkout `devices` is a link to
harness/devices, where they are kept; a wheel holds the files.
"""

import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.results.checking import Checker, parse, shown

DEVICES = Path(str(files("gpubench_reports").joinpath("devices")))


@dataclass(frozen=True)
class FigureRule:
    """A figure by schema.json: its unit ("1" for none), one of count, whole, positive and fraction,
    and the limits beyond which a value is in another unit."""

    unit: str
    constraint: str
    least: float
    most: float


@dataclass(frozen=True)
class DeviceFile:
    """A device file as it stands."""

    path: Path
    document: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.document["name"])

    def value(self, figure: str) -> float | None:
        entry = self.document["figures"].get(figure)
        return None if entry is None else entry["value"]

    def has(self, figure: str) -> bool:
        return figure in self.document["figures"]

    def provenance(self, figure: str) -> str:
        return str(self.document["figures"][figure]["from"])


@cache
def figure_rules() -> dict[str, FigureRule]:
    """Every figure that a device file may have, by name. Raises ReportError."""
    path = DEVICES / "schema.json"
    found = {}
    for name, entry in parse(path)["properties"]["figures"]["properties"].items():
        unit = entry["description"].partition("]")[0].removeprefix("[")
        limits = entry.get("properties", {}).get("value", {})
        found[name] = FigureRule(
            unit,
            entry["$ref"].rpartition("/")[2],
            limits.get("minimum", -math.inf),
            limits.get("maximum", math.inf),
        )
    return found


def figure_value(check: Checker, figures: dict[str, Any], name: str) -> float:
    """The value of one of the file's figures, which it has. ReportError if it is no figure, or out
    of the limits that the program has too."""
    if name not in figure_rules():
        raise check.fail(name, "no figure is called so")
    rule, figure = figure_rules()[name], figures[name]
    if not isinstance(figure, dict):
        raise check.fail(name, "must be an object")
    if "value" not in figure:
        raise check.fail(name, "'value' is missing")
    value = check.number(figure["value"], "value", name)
    if not rule.least <= value <= rule.most:
        unit = "" if rule.unit == "1" else f" {rule.unit}"
        limits = f"from {rule.least:g} to {rule.most:g}{unit}"
        raise check.fail(name, f"'value' must be {limits}, it is {shown(figure['value'])}")
    return value


def shipped_devices() -> list[str]:
    """The names of the device files that come with this program."""
    return sorted(path.stem for path in DEVICES.glob("*.json") if path.stem != "schema")


@cache
def _matches() -> dict[str, str]:
    """The names of GPUs that the shipped files describe, each with the device's. Raises
    ReportError."""
    return {
        match: device
        for device in shipped_devices()
        for match in parse(DEVICES / f"{device}.json")["matches"]
    }


def device_of_gpu(cuda_name: str) -> str:
    """The shipped device that describes the GPU of this cudaDeviceProp::name, by the same rule as
    the C++ device_spec_for_gpu; empty if there is none."""
    if " MIG " in cuda_name:  # a slice of a GPU is not the GPU
        return ""
    starts = [
        match
        for match in _matches()
        if cuda_name.startswith(match) and cuda_name[len(match) :][:1] in ("", " ", "-")
    ]
    return _matches()[max(starts, key=len)] if starts else ""


def device_path(name_or_path: str) -> Path:
    """Where the device file of this name is; a path (it has a / or ends with .json) stays as it is.
    Raises ReportError."""
    is_path = "/" in name_or_path or name_or_path.endswith(".json")
    if not is_path and name_or_path not in shipped_devices():
        known = ", ".join(shipped_devices())
        raise ReportError(
            f"unknown device '{name_or_path}'", f"known are {known}, or give the path of a file"
        )
    return Path(name_or_path) if is_path else DEVICES / f"{name_or_path}.json"


def read_device(name_or_path: str) -> DeviceFile:
    """The device file of this name, or at this path. Raises ReportError."""
    path = device_path(name_or_path)
    document = parse(path)
    check = Checker(path)
    if not isinstance(document, dict) or not isinstance(document.get("figures"), dict):
        raise ReportError(path, "not a device file: it has no 'figures'")
    for key in ("name", "title", "kind"):
        check.text(document, key, "")
    if not isinstance(document.get("sources"), dict):
        raise ReportError(path, "not a device file: it has no 'sources'")
    matches = document.get("matches", [])
    if not isinstance(matches, list) or not all(isinstance(one, str) for one in matches):
        raise ReportError(path, "'matches' must be a list of names")
    for name, figure in document["figures"].items():
        figure_value(check, document["figures"], name)
        check.text(figure, "from", name)
        check.text(figure, "source", name)
    if document["kind"] != "gpu":
        raise ReportError(path, "knows roofs only: there is nothing to calibrate a model of")
    return DeviceFile(path, document)


def device_figure(device: str, figure: str) -> float:
    """A figure of a device's file; NaN where there is no file, or it lacks the figure."""
    value = read_device(device).value(figure) if device in shipped_devices() else None
    return math.nan if value is None else float(value)
