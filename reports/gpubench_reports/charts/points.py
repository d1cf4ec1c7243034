"""Which rows the points of a chart stand for: so that a page can tell of the one that is pointed
at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

_ROWS: "WeakKeyDictionary[Line2D, tuple[str, ...]]" = WeakKeyDictionary()


@dataclass(frozen=True)
class Point:
    """A row's point: `x` and `y` are fractions of the figure, from its top left."""

    name: str
    x: float
    y: float


def name_points(lines: Sequence[Line2D], rows: Iterable[str]) -> None:
    """Says which `rows`, by their names, the points of what axes.plot() drew stand for."""
    (line,) = lines
    _ROWS[line] = tuple(rows)


def named_points(figure: Figure) -> list[Point]:
    """All points of the figure that stand for a row and lie within their axes. The figure must have
    been drawn, or its limits be settled."""
    found = []
    to_figure = figure.transFigure.inverted()
    for axes in figure.axes:
        for line in axes.lines:
            names = _ROWS.get(line)
            if names is None:
                continue
            places = line.get_transform().transform(line.get_xydata())
            inside = axes.bbox.padded(2)
            for name, place in zip(names, places, strict=True):
                if np.isfinite(place).all() and inside.contains(*place):
                    x, y = to_figure.transform(place)
                    found.append(Point(name, float(x), 1 - float(y)))
    return found
