"""How noisy the nights of a store are: estimated from it, or assumed."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpubench_reports.nightly.rule.baseline import MAD_TO_SIGMA
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index


@dataclass(frozen=True)
class Noise:
    """Relative standard deviations, the share of outlier nights, and their size."""

    within: float = 0.002  # of a process's median
    process: float = 0.004
    night: float = 0.004
    outliers: float = 0.03
    outlier_floor: float = 0.02  # an outlier adds this much and an exponential share on top,
    outlier_mean: float = 0.03  # of this mean
    persist: float = 0.5
    source: str = "assumed"

    def line(self) -> str:
        return (
            f"Noise ({self.source}): {self.within:.2%} within a process, {self.process:.2%} "
            f"between processes, {self.night:.2%} between nights; {self.outliers:.1%} of nights "
            f"are outliers, slower by {self.outlier_floor:.0%} and {self.outlier_mean:.0%} more on "
            f"average; a rerun meets {self.persist:.0%} of them again."
        )


def noise_of(index: Index, settings: Settings) -> Noise | None:
    """What the store's valid nights say of the noise; None if there are too few of them.

    Robust estimates, by series and then the median over the series: within from the processes' own
    intervals, between processes and between nights from medians' spreads, each less what the finer
    ones explain. Changes of level would count as noise, so nights are compared with their
    neighbours only. What a night measured first counts, since an outlier is measured again.
    """
    series: dict[tuple[Any, ...], list[tuple[float, float, str]]] = {}
    within: list[float] = []
    for number, environment, first, rerun, fine, medians in index.rows(
        "select series, environment, first, rerun, within, medians from value"
        " order by series, environment, night"
    ):
        again = math.nan if rerun is None else rerun
        series.setdefault((number, environment), []).append((first, again, medians))
        if fine is not None:
            within.append(fine)
    by_process, by_night, far, met_again, count = [], [], [], [], 0
    for values in series.values():
        if len(values) < 2 * settings.min_nights:
            continue
        processes = [np.log(json.loads(medians)) for *_, medians in values]
        by_process.append(np.sqrt(np.mean([np.var(x, ddof=1) for x in processes if len(x) > 1])))
        logs, again = np.log(np.array([value[:2] for value in values])).T
        sigma = MAD_TO_SIGMA * float(np.median(np.abs(_against_neighbours(logs))))
        by_night.append(sigma)
        sizes = _above_both_sides(logs)
        count += len(sizes)
        outliers = np.flatnonzero(sizes > max(4 * sigma, 0.01))
        far += list(sizes[outliers])
        gone = (logs - again)[3:-3][outliers] / sizes[outliers]
        met_again += list(gone[~np.isnan(gone)] < 0.5)
    if not by_night:
        return None
    fine = float(np.median(within)) if within else 0.0
    process = float(np.median(by_process))
    # The median of five is 1.2 times as uncertain as their mean; a difference from the median of
    # four neighbours adds their own uncertainty.
    of_median = 1.2 * process / math.sqrt(settings.processes)
    night = math.sqrt(max(0.0, float(np.median(by_night)) ** 2 / 1.35 - of_median**2))
    floor = float(np.min(far)) if far else Noise.outlier_floor
    return Noise(
        within=fine,
        process=math.sqrt(max(0.0, process**2 - fine**2)),
        night=night,
        outliers=len(far) / count,
        persist=float(np.mean(met_again)) if met_again else Noise.persist,
        outlier_floor=floor,
        outlier_mean=max(float(np.mean(far)) - floor, 0.001) if far else Noise.outlier_mean,
        source=f"from {sum(map(len, series.values()))} nights of {len(by_night)} series",
    )


def _above_both_sides(logs: np.ndarray) -> np.ndarray:
    """Each inner night less the higher of the medians of the three before and the three after it:
    an outlier stands above both, the first night of a step does not."""
    around = np.lib.stride_tricks.sliding_window_view(logs, 3)
    before, after = np.median(around[:-4], axis=1), np.median(around[4:], axis=1)
    return np.asarray(logs[3:-3] - np.maximum(before, after))


def _against_neighbours(logs: np.ndarray) -> np.ndarray:
    """Each inner night less the median of the two before and the two after it."""
    around = np.stack([logs[:-4], logs[1:-3], logs[3:-1], logs[4:]])
    return np.asarray(logs[2:-2] - np.median(around, axis=0))
