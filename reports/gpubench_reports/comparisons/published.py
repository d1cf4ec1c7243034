"""The model against published measurements of the same work: errors, and a page's tables."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gpubench_reports.common import programs
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, reason, write_atomically
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.points import Point, axis_values
from gpubench_reports.comparisons.validate import TARGET_FITTED, TARGET_PREDICTED, summary
from gpubench_reports.results.quantities import better_of, gain
from gpubench_reports.results.reader import ResultFile, read

_MARKERS = "<!-- {}: begin -->", "<!-- {}: end -->"
BEGIN, END = (marker.format("published") for marker in _MARKERS)
_ERRORS = "errors"  # the block of a page that has its tables of errors before the points


def compare_points(
    points: Sequence[Point],
    results: Sequence[ResultFile],
    classify: Callable[[str, str], str] = lambda concept, kernel: concept,
) -> pd.DataFrame:
    """The points that have a row, with the model's answer: device, what, published, modelled,
    unit, label, fitted, class, source, url, and `error` of the predicted time (above 0: the model
    is too slow). `classify` tells the class of a concept's kernel. Raises ReportError where a file
    lacks a row."""
    by_device: dict[str, list[ResultFile]] = {}
    for result in results:
        by_device.setdefault(result.context.device, []).append(result)
    lines = []
    for point in points:
        if not point.row:
            continue
        files = by_device.get(point.device)
        if files is None:
            raise ReportError(point.device, "a point needs this device, and no file is of it")
        row = _row(files, point.row, point.quantity)
        modelled = _modelled(files, point, row)
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


def _row(files: Sequence[ResultFile], name: str, quantity: str) -> pd.Series:
    for result in files:
        rows = result.ok[result.ok["name"] == name]
        if not rows.empty and rows[quantity].iloc[0] > 0:
            return rows.iloc[0]
    raise ReportError(files[0].path, f"has no {quantity} of row {name}")


def _modelled(files: Sequence[ResultFile], point: Point, row: pd.Series) -> float:
    """What the model says of the work of the point's row, in the time of all its rows."""
    own = float(row[point.quantity])
    if not point.besides:
        return own
    seconds = float(row["seconds"])
    total = seconds + sum(
        beside.times * float(_row(files, beside.row, "seconds")["seconds"])
        for beside in point.besides
    )
    return total if point.quantity == "seconds" else own * seconds / total


def run_model(points: Sequence[Point], program: Path) -> list[ResultFile]:
    """Runs `program` on the model of every device that a point names, for the rows that points
    name. Raises ReportError when it cannot."""
    compared = [point for point in points if point.row]
    results = []
    for device in sorted({point.device for point in compared}):
        of_device = [point for point in compared if point.device == device]
        in_suite = {
            row
            for point in of_device
            for row in ([name.row for name in point.besides] if point.own_axes else point.rows)
        }
        if in_suite:
            results.append(_run(program, device, in_suite, []))
        own = [point for point in of_device if point.own_axes]
        if own:
            results.append(_run(program, device, {point.row for point in own}, _axis_flags(own)))
    return results


def _axis_flags(points: Sequence[Point]) -> list[str]:
    """Flags that give each kernel the values that points have on axes of their own. The program
    crosses them, and the rows' names choose among what comes of it."""
    values: dict[str, set[str]] = {}
    for point in points:
        kernel = "/".join(point.row.split("/")[:2])
        for axis in point.own_axes:
            values.setdefault(f"{kernel}/{axis}", set()).add(axis_values(point.row)[axis])
    return [f"--axis={axis}={','.join(sorted(of))}" for axis, of in sorted(values.items())]


def _run(program: Path, device: str, rows: Iterable[str], flags: Sequence[str]) -> ResultFile:
    pattern = "|".join(f"^{row}$" for row in sorted(rows))
    with tempfile.TemporaryDirectory(prefix="gpubench-") as directory:
        out = Path(directory) / f"{device}.json"
        arguments = [
            f"--device=model:{device}",
            "--suite=full",
            f"--benchmark_filter={pattern}",
            f"--benchmark_out={out}",
            *flags,
        ]
        programs.run(program, arguments, f"model:{device}")
        return read(out)


def markdown(points: Sequence[Point], rows: pd.DataFrame) -> str:
    """The error tables, and what cannot be compared yet, as Markdown."""
    return "\n".join([*_by_point(rows), "", *_errors(rows), *_waiting(points)]) + "\n"


def write_page(path: Path, points: Sequence[Point], rows: pd.DataFrame) -> None:
    """Puts the same into a page: its errors into a block of their own if the page has one, and the
    rest into the block for points. Raises ReportError."""
    if _MARKERS[0].format(_ERRORS) not in _text_of(path):
        rewrite_block(path, markdown(points, rows))
        return
    rewrite_block(path, "\n".join(_errors(rows)) + "\n", _ERRORS)
    rewrite_block(path, "\n".join([*_by_point(rows), *_waiting(points)]) + "\n")


def _by_point(rows: pd.DataFrame) -> list[str]:
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
    return lines


def _errors(rows: pd.DataFrame) -> list[str]:
    words = {
        True: f"fitted (target ± {TARGET_FITTED * 100:.0f} %)",
        False: f"predicted (target ± {TARGET_PREDICTED * 100:.0f} %)",
    }
    lines = [
        "| points | number | mean error | MAPE | worst | within target |",
        "|---|---|---|---|---|---|",
    ]
    for _, line in summary(rows, "fitted").sort_values("fitted").iterrows():
        lines.append(
            f"| {words[line['fitted']]} | {line['rows']} | {signed_percent(line['mean'])} |"
            f" {line['mape'] * 100:.1f} % | {signed_percent(line['worst'])} |"
            f" {line['met']} of {line['rows']} |"
        )
    return lines + _by_class(rows[~rows["fitted"]])


def _waiting(points: Sequence[Point]) -> list[str]:
    waiting: dict[str, list[Point]] = {}
    for point in points:
        if not point.row:
            waiting.setdefault(point.waits_for, []).append(point)
    if not waiting:
        return []
    lines = ["", "Published, and not comparable yet:", ""]
    for waits_for, group in waiting.items():
        devices = ", ".join(sorted({point.device for point in group}))
        lines.append(f"- {waits_for}: {len(group)} points ({devices})")
    return lines


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
    before, begin, rest = _text_of(path).partition(begin_marker)
    _, end, after = rest.partition(end_marker)
    if not begin or not end:
        raise ReportError(path, f"has no block between {begin_marker} and {end_marker}")
    write_atomically(path, f"{before}{begin}\n{text}{end}{after}".encode())


def _text_of(path: Path) -> str:
    try:
        return file_bytes(path).decode("utf-8")
    except OSError as error:
        raise ReportError(path, f"cannot be read: {reason(error)}") from None


def signed_percent(value: float) -> str:
    return f"{round(value * 100, 1) + 0:+.1f} %"  # + 0: no "-0.0"
