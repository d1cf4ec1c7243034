"""Change points by E-divisive, as Apache Otava computes them.

E-divisive: D. S. Matteson and N. A. James, "A nonparametric approach for multiple change point
analysis of multivariate data", arXiv 1306.4933; with a t-test for significance: M. Fleming et al.,
"Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE '23.

Otava is used for this analysis only, which needs NumPy and SciPy. Its own list of dependencies also
has clients of databases and chat services, and an older NumPy: requirements-nightly.txt therefore
leaves that list aside, and a test holds this analysis to known answers.
"""

import numpy as np

from gpubench_reports.common.extras import load_module
from gpubench_reports.nightly.rule.settings import Settings


def change_points(values: np.ndarray, settings: Settings) -> list[int]:
    """The first index of each new level in `values`, ascending."""
    otava = load_module("otava.analysis", "the judge", "nightly")
    # A list: of an array, Otava 0.8 takes all where it means the window.
    found, _ = otava.compute_change_points(
        values.tolist(),
        window_len=settings.change_window,
        max_pvalue=settings.change_p,
        min_magnitude=settings.change_floor,
    )
    return sorted(int(point.index) for point in found)
