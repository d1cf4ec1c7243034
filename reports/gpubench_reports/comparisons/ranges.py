"""What others recorded for a row on the same device: result files, and published points."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import plural
from gpubench_reports.comparisons.points import points_of
from gpubench_reports.results.checking import parse
from gpubench_reports.results.copies import is_copy
from gpubench_reports.results.doubts import flags_of
from gpubench_reports.results.reader import ResultFile, read


@dataclass(frozen=True)
class Range:
    """`quantity` (a counter, or seconds) of `row` was between `low` and `high` [SI unit], as
    `source` has it."""

    row: str
    quantity: str
    low: float
    high: float
    source: str


def ranges_for(result: ResultFile, places: Iterable[Path]) -> list[Range]:
    """The ranges in `places` (files, or folders searched through) for the device of `result`.

    With several measured files a range runs from their least to their greatest figure. The file
    itself and copies of it, modelled files, other devices and other modes do not count, nor do rows
    that did not converge or were throttled; and nothing measured does for a modelled result, which
    is no GPU's. Published points are of cold rows. Raises ReportError for a file that was named and
    cannot be read; what merely lies in a folder is passed over.
    """
    context = result.context
    published: dict[tuple[str, str], list[tuple[float, str]]] = {}
    measured: dict[tuple[str, str], list[float]] = {}
    for path, named in _files(places):
        try:
            if _is_points(path):
                for point in points_of(path):
                    same = point.device == context.device and context.mode != "hot"
                    if same and point.row and not point.besides:
                        key = (point.row, point.quantity)
                        published.setdefault(key, []).append((point.value, point.source))
                continue
            other = read(path)
        except ReportError:
            if named:
                raise
            continue
        same = other.context.device == context.device and other.context.mode == context.mode
        if context.modelled or other.context.modelled or not same or is_copy(other, result):
            continue
        for row in other.timed:
            if not flags_of(row):
                measured.setdefault((row["name"], row["headline"]), []).append(row["value"])
    found = [
        Range(*key, min(values), max(values), plural(len(values), "run"))
        for key, values in measured.items()
    ]
    for key, entries in published.items():
        values = [value for value, _ in entries]
        sources = ", ".join(dict.fromkeys(source for _, source in entries))
        found.append(Range(*key, min(values), max(values), sources))
    return found


def files_in(places: Iterable[Path]) -> list[Path]:
    """Every file that `ranges_for` would look into."""
    return [path for path, _ in _files(places)]


def _files(places: Iterable[Path]) -> list[tuple[Path, bool]]:
    """Every file, and whether it was named itself."""
    found: list[tuple[Path, bool]] = []
    for place in places:
        if place.is_dir():
            inside = sorted(place.rglob("*.json"))
            found += [(path, False) for path in inside if _is_kept(path.relative_to(place))]
        else:
            found.append((place, True))
    return found


def _is_kept(path: Path) -> bool:
    """Not one's own runs under local/, and not what lies beside a result file."""
    return path.parts[0] != "local" and not path.name.endswith(
        (".trace.json", ".explain.json", "-explain.json")
    )


def _is_points(path: Path) -> bool:
    """Whether a JSON file holds published points; whatever is wrong with it, read() says."""
    try:
        document = parse(path)
    except ReportError:
        return False
    return isinstance(document, dict) and "points" in document
