"""Points files: what publications measured, and the suite's rows that ask the same.

A points file (in tests/data/published/ and tests/data/unseen/) holds what one publication measured
on one device:

    schema 1; device (a device file's name); source (repository and path); url
    measured_on   the GPU that was measured, in words
    unlike        how the publication's set-up differs from the suite's rows, in one sentence
    points        each with `what`, `value`, and either
                    `row` and `quantity`: the suite's row, and its counter that `value` is compared
                    with; `fitted`: whether the device file took a figure that bounds this work
                    from this publication, or reasons with it; and, where the publication did more
                    than the row, `besides`: rows with `times`, how often their time comes on top;
                    `own_axes`: the axes whose value in `row` is in no suite
                  or `unit` and `waits_for`: no row of the suite measures this yet
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import require_folder
from gpubench_reports.results.checking import number_of, parse
from gpubench_reports.results.quantities import TIME, better_of
from gpubench_reports.results.rows import COUNTERS

_UNITS = {
    "useful_bytes_per_second": "B/s",
    "bus_bytes_per_second": "B/s",
    "flops_per_second": "FLOP/s",
    "items_per_second": "/s",
    "seconds": "s",
    "latency_cycles": "cycles",
    "load_cycles": "cycles",
}


@dataclass(frozen=True)
class Beside:
    """A row whose time, so many times, comes on top of a point's own row."""

    row: str
    times: float


@dataclass(frozen=True)
class Point:
    """One published figure. `value` in SI units; `row` is empty while none can be compared."""

    device: str
    source: str
    url: str
    what: str
    value: float
    row: str = ""
    quantity: str = ""
    fitted: bool = False
    besides: tuple[Beside, ...] = ()
    unit: str = ""
    waits_for: str = ""
    own_axes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[str]:
        """All rows that it is compared with."""
        return [self.row, *(beside.row for beside in self.besides)] if self.row else []


def read_points(directory: Path) -> list[Point]:
    """All points of the *.json files in `directory`, by device, then by file name.

    Raises ReportError.
    """
    require_folder(directory, "points files (*.json)")
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise ReportError(directory, "holds no points: expected *.json files")
    points = [point for path in paths for point in points_of(path)]
    return sorted(points, key=lambda point: point.device)


def points_of(path: Path) -> list[Point]:
    """The points of one file. Raises ReportError."""
    document = parse(path)
    if not isinstance(document, dict) or document.get("schema") != 1:
        raise ReportError(path, "must be an object with 'schema' 1")
    head = {key: _text(path, document, key) for key in ("device", "source", "url")}
    for key in ("measured_on", "unlike"):
        _text(path, document, key)
    points = document.get("points")
    if not isinstance(points, list) or not points:
        raise ReportError(path, "'points' must be a list of objects")
    return [_point(path, head, entry) for entry in points]


def _point(path: Path, head: dict[str, str], entry: Any) -> Point:
    if not isinstance(entry, dict):
        raise ReportError(path, "'points' must be a list of objects")
    what = _text(path, entry, "what")
    value = number_of(entry.get("value"))
    if isinstance(entry.get("value"), str | bool) or not value > 0:
        raise ReportError(path, f"point '{what}': 'value' must be a number above 0")
    known = {"what", "value"}
    fields: dict[str, Any] = {}
    if "row" in entry:
        known |= {"row", "quantity", "fitted", "besides", "own_axes"}
        fields = {"row": _text(path, entry, "row"), "quantity": _text(path, entry, "quantity")}
        if fields["quantity"] not in ("seconds", *COUNTERS):
            raise ReportError(path, f"point '{what}': no counter is called {fields['quantity']!r}")
        fields["unit"] = _UNITS.get(fields["quantity"], "")
        fields["fitted"] = entry.get("fitted")
        if not isinstance(fields["fitted"], bool):
            raise ReportError(path, f"point '{what}': 'fitted' must be true or false")
        if "besides" in entry:
            own = fields["quantity"]
            if own != TIME.column and better_of(own) == "lower":
                raise ReportError(path, f"point '{what}': 'besides' needs a rate or seconds")
            fields["besides"] = _besides(path, what, entry["besides"])
        if "own_axes" in entry:
            fields["own_axes"] = _own_axes(path, what, fields["row"], entry["own_axes"])
    else:
        known |= {"unit", "waits_for"}
        fields = {key: _text(path, entry, key) for key in ("unit", "waits_for")}
    if unknown := sorted(set(entry) - known):
        raise ReportError(path, f"point '{what}': unknown key {unknown[0]!r}")
    return Point(**{**head, **fields, "what": what, "value": value})


def _besides(path: Path, what: str, entries: Any) -> tuple[Beside, ...]:
    error = ReportError(
        path, f"point '{what}': 'besides' must be a list of objects with 'row' and 'times' above 0"
    )
    if not isinstance(entries, list) or not entries:
        raise error
    found = []
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) != {"row", "times"}:
            raise error
        times = number_of(entry["times"])
        if isinstance(entry["times"], str | bool) or not times > 0:
            raise error
        found.append(Beside(_text(path, entry, "row"), times))
    return tuple(found)


def _own_axes(path: Path, what: str, row: str, axes: Any) -> tuple[str, ...]:
    values = axis_values(row)
    if not isinstance(axes, list) or not axes or any(axis not in values for axis in axes):
        raise ReportError(path, f"point '{what}': 'own_axes' must be a list of axes of its row")
    return tuple(axes)


def axis_values(row: str) -> dict[str, str]:
    """A row's values by axis: it is called CONCEPT/KERNEL/AXIS:VALUE/AXIS:VALUE."""
    return dict(part.split(":", 1) for part in row.split("/")[2:] if ":" in part)


def _text(path: Path, entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ReportError(path, f"'{key}' must be a non-empty string")
    return value
