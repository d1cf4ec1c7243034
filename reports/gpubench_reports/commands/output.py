"""What several commands print and write."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench_reports.common.plain_text import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROGRAM = "gpubench-report"


def print_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        print(clean(str(path)))


def save_charts(directory: Path, figures: "dict[str, Figure]", say: bool = True) -> None:
    """Saves the figures in the folder under their names, and prints the paths if it is to `say`."""
    from gpubench_reports.charts.render import save
    from gpubench_reports.common.files import ensure_directory

    ensure_directory(directory)
    paths = [path for name, figure in figures.items() for path in save(figure, directory / name)]
    if say:
        print_paths(paths)
