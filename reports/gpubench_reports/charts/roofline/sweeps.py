"""The rows that a roofline shows, as sweeps with a look of their own."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpubench_reports.charts import style
from gpubench_reports.results.sweeps import Series, sweeps


@dataclass
class Sweep:
    """Points of one kernel that a path joins: `numbers` are theirs, from 1 over the chart."""

    kernel: str
    x_name: str
    series: Series
    numbers: range
    colour: str
    marker: str

    @property
    def joined(self) -> bool:
        """Whether there is something between the points: an axis of names has nothing there."""
        return all(isinstance(x, int | float) for x in self.series.x)

    @property
    def intensity(self) -> np.ndarray:
        return np.asarray(self.series.rows["arithmetic_intensity"], dtype=float)

    @property
    def rate(self) -> np.ndarray:
        return np.asarray(self.series.rows["flops_per_second"], dtype=float)


def find_sweeps(rows: pd.DataFrame) -> list[Sweep]:
    """The rows that a roofline can show, by kernel and sweep, numbered through."""
    ok = rows[rows["status"] == "ok"]
    ok = ok[(ok["arithmetic_intensity"] > 0) & (ok["flops_per_second"] > 0)]
    found: list[Sweep] = []
    number = 1
    kernels = list(dict.fromkeys(zip(ok["concept"], ok["kernel"], strict=True)))
    for concept, kernel in kernels:
        part = ok[(ok["concept"] == concept) & (ok["kernel"] == kernel)]
        for x_name, series in sweeps(part):
            numbers = range(number, number + len(series.x))
            number = numbers.stop
            # 6 colours and 11 markers have no common factor: 66 sweeps before a pair repeats.
            colour = style.COLOURS[len(found) % len(style.COLOURS)]
            marker = style.MARKERS[len(found) % len(style.MARKERS)]
            found.append(Sweep(f"{concept}/{kernel}", x_name, series, numbers, colour, marker))
    return found
