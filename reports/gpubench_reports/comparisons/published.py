"""The model against published measurements of the same work: points, errors, the README's table.

A points file (tests/data/published/*.json) holds what one publication measured on one device:

    schema 1; device (a device file's name); source (repository and path); url
    measured_on   the GPU that was measured, in words
    unlike        how the publication's set-up differs from the suite's rows, in one sentence
    points        each with `what`, `value`, and either
                    `row` and `quantity`: the suite's row, and its counter that `value` is compared
                    with; `fitted`: whether the device file took a figure that bounds this work
                    from this publication, or reasons with it; and, where the publication did more
                    than the row, `besides`: rows with `times`, how often their time comes on top
                  or `unit` and `waits_for`: no row of the suite measures this yet
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common import programs
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, reason, require_folder, write_atomically
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.validate import TARGET_FITTED, TARGET_PREDICTED, summary
from gpubench_reports.results.checking import number_of, parse
from gpubench_reports.results.quantities import TIME, better_of, gain
from gpubench_reports.results.reader import ResultFile, read
from gpubench_reports.results.rows import COUNTERS

_MARKERS = "<!-- {}: begin -->", "<!-- {}: end -->"
BEGIN, END = (marker.format("published") for marker in _MARKERS)
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
        known |= {"row", "quantity", "fitted", "besides"}
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


def _text(path: Path, entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ReportError(path, f"'{key}' must be a non-empty string")
    return value


def compare_points(
    points: Sequence[Point],
    results: Sequence[ResultFile],
    classify: Callable[[str, str], str] = lambda concept, kernel: concept,
) -> pd.DataFrame:
    """The points that have a row, with the model's answer: device, what, published, modelled,
    unit, label, fitted, class, source, url, and `error` of the predicted time (above 0: the model
    is too slow). `classify` tells the class of a concept's kernel. Raises ReportError where a file
    lacks a row."""
    by_device = {result.context.device: result for result in results}
    lines = []
    for point in points:
        if not point.row:
            continue
        result = by_device.get(point.device)
        if result is None:
            raise ReportError(point.device, "a point needs this device, and no file is of it")
        row = _row(result, point.row, point.quantity)
        modelled = _modelled(result, point, row)
        lines.append(
            {
                "device": point.device,
                "what": point.what,
                "published": point.value,
                "modelled": modelled,
                "unit": point.unit,
                "label": row["label"],
                "fitted": point.fitted,
                "class": classify(row["concept"], row["kernel"]),
                "source": point.source,
                "url": point.url,
                "error": gain(modelled, point.value, better_of(point.quantity)) - 1,
            }
        )
    return pd.DataFrame(lines)


def _row(result: ResultFile, name: str, quantity: str) -> pd.Series:
    rows = result.ok[result.ok["name"] == name]
    if rows.empty or not rows[quantity].iloc[0] > 0:
        raise ReportError(result.path, f"has no {quantity} of row {name}")
    return rows.iloc[0]


def _modelled(result: ResultFile, point: Point, row: pd.Series) -> float:
    """What the model says of the work of the point's row, in the time of all its rows."""
    own = float(row[point.quantity])
    if not point.besides:
        return own
    seconds = float(row["seconds"])
    total = seconds + sum(
        beside.times * float(_row(result, beside.row, "seconds")["seconds"])
        for beside in point.besides
    )
    return total if point.quantity == "seconds" else own * seconds / total


def run_model(points: Sequence[Point], program: Path) -> list[ResultFile]:
    """Runs `program` on the model of every device that a point names, for the rows that points
    name. Raises ReportError when it cannot."""
    results = []
    for device in sorted({point.device for point in points if point.row}):
        rows = sorted({row for point in points if point.device == device for row in point.rows})
        pattern = "|".join(f"^{row}$" for row in rows)
        with tempfile.TemporaryDirectory(prefix="gpubench-") as directory:
            out = Path(directory) / f"{device}.json"
            arguments = [
                f"--device=model:{device}",
                "--suite=full",
                f"--benchmark_filter={pattern}",
                f"--benchmark_out={out}",
            ]
            programs.run(program, arguments, f"model:{device}")
            results.append(read(out))
    return results


def markdown(points: Sequence[Point], rows: pd.DataFrame) -> str:
    """The error tables, and what cannot be compared yet, as Markdown."""
    lines = [
        "| device | work | published | modelled | bound | time error | |",
        "|---|---|---|---|---|---|---|",
    ]
    for _, row in rows.iterrows():
        cells = (
            row["device"],
            f"[{row['what']}]({row['url']})",
            si(row["published"], row["unit"]),
            si(row["modelled"], row["unit"]),
            row["label"],
            signed_percent(row["error"]),
            "fitted" if row["fitted"] else "predicted",
        )
        lines.append(f"| {' | '.join(cells)} |")
    words = {
        True: f"fitted (target ± {TARGET_FITTED * 100:.0f} %)",
        False: f"predicted (target ± {TARGET_PREDICTED * 100:.0f} %)",
    }
    lines += [
        "",
        "| points | number | mean error | MAPE | worst | within target |",
        "|---|---|---|---|---|---|",
    ]
    for _, line in summary(rows, "fitted").sort_values("fitted").iterrows():
        lines.append(
            f"| {words[line['fitted']]} | {line['rows']} | {signed_percent(line['mean'])} |"
            f" {line['mape'] * 100:.1f} % | {signed_percent(line['worst'])} |"
            f" {line['met']} of {line['rows']} |"
        )
    lines += _by_class(rows[~rows["fitted"]])
    waiting: dict[str, list[Point]] = {}
    for point in points:
        if not point.row:
            waiting.setdefault(point.waits_for, []).append(point)
    if waiting:
        lines += ["", "Published, and not comparable yet:", ""]
        for waits_for, group in waiting.items():
            devices = ", ".join(sorted({point.device for point in group}))
            lines.append(f"- {waits_for}: {len(group)} points ({devices})")
    return "\n".join(lines) + "\n"


def _by_class(held_out: pd.DataFrame) -> list[str]:
    """Tables of the points that no figure was fitted on: by class of rows, and what is left of all
    when the device, or the source, is left out that is most off."""
    if held_out.empty:
        return []
    lines = [
        "",
        "| class | points | MAPE | bias | within 25 % | worst | sigma |",
        "|---|---|---|---|---|---|---|",
    ]
    groups = [(str(name), group) for name, group in held_out.groupby("class")]
    for name, group in [*groups, ("all", held_out)]:
        error = group["error"]
        cells = (
            name,
            len(group),
            f"{error.abs().mean() * 100:.1f} %",
            signed_percent(error.mean()),
            f"{int((error.abs() <= TARGET_PREDICTED).sum())}",
            signed_percent(error[error.abs().idxmax()]),
            f"{_sigma(error):.2f}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += [
        "",
        "| one left out | its points | its MAPE | MAPE of the others |",
        "|---|---|---|---|",
    ]
    for key in ("device", "source"):
        if held_out[key].nunique() < 2:
            continue
        size = held_out["error"].abs()
        name = str(size.groupby(held_out[key]).sum().idxmax())
        own = held_out[key] == name
        lines.append(
            f"| {key} {name} | {int(own.sum())} | {size[own].mean() * 100:.1f} % |"
            f" {size[~own].mean() * 100:.1f} % |"
        )
    return lines


def _sigma(error: pd.Series) -> float:
    """The root of the mean square of the logarithm of the modelled over the published time."""
    return float(np.sqrt((np.log1p(error) ** 2).mean()))


def rewrite_block(path: Path, text: str, name: str = "published") -> None:
    """Puts `text` between the markers of this name in the file at `path`. Raises ReportError."""
    begin_marker, end_marker = (marker.format(name) for marker in _MARKERS)
    try:
        document = file_bytes(path).decode("utf-8")
    except OSError as error:
        raise ReportError(path, f"cannot be read: {reason(error)}") from None
    before, begin, rest = document.partition(begin_marker)
    _, end, after = rest.partition(end_marker)
    if not begin or not end:
        raise ReportError(path, f"has no block between {begin_marker} and {end_marker}")
    write_atomically(path, f"{before}{begin}\n{text}{end}{after}".encode())


def signed_percent(value: float) -> str:
    return f"{round(value * 100, 1) + 0:+.1f} %"  # + 0: no "-0.0"
