"""What several commands print and write."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROGRAM = "gpubench-report"


def print_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        print(path)


def save_charts(directory: Path, figures: "dict[str, Figure]") -> None:
    """Saves the figures in the folder under their names, and prints the paths."""
    from gpubench_reports.charts.render import save
    from gpubench_reports.common.files import ensure_directory

    ensure_directory(directory)
    print_paths(
        [path for name, figure in figures.items() for path in save(figure, directory / name)]
    )
