"""Rows that a GPU lacks: its run was interrupted, or its peers have them and it has not."""

from collections.abc import Iterator

import numpy as np

from gpubench_reports.common.units import plural
from gpubench_reports.fleet.judging import FEWEST
from gpubench_reports.fleet.table import Fleet
from gpubench_reports.nightly.store.process_file import is_failure

_REASONS = 3  # that are said


def gaps(fleet: Fleet, members: np.ndarray) -> Iterator[tuple[int, str]]:
    """The GPUs among `members`, which are of one kind, that lack rows, and which and why.

    A row is lacked that more than half of the others have; one that failed is told elsewhere.
    """
    known = np.isfinite(fleet.seconds[members])
    others = known.sum(axis=0) - known
    usual = 2 * others > len(members) - 1
    if len(members) < FEWEST:
        usual[:] = False
    interrupted = fleet.gpus["interrupted"].to_numpy()[members]
    for at in np.flatnonzero((usual & ~known).any(axis=1) | (interrupted != "")):
        number = int(members[at])
        lost = fleet.gpus["lost"].iloc[number]
        names = [fleet.names[row] for row in np.flatnonzero(usual[at] & ~known[at])]
        names = [name for name in names if not is_failure(lost.get(name, ""))]
        if names:
            reasons = list(dict.fromkeys(lost.get(name, "not in its file") for name in names))
            more = f" and {len(reasons) - _REASONS} more reasons" if reasons[_REASONS:] else ""
            why = interrupted[at] or "; ".join(reasons[:_REASONS]) + more
            count = plural(int(usual[at].sum()), "row")
            yield number, f"{len(names)} of {count} that its peers have: {why}"
        elif interrupted[at]:
            yield number, interrupted[at]
