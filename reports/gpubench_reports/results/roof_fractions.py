"""How much of its roof each row reaches: as the file says, or by the program's rule for it."""

import math
from collections.abc import Mapping
from typing import Any

from gpubench_reports.results.baselines import modelled_run
from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import ResultFile

_AMOUNTS = {"bandwidth": "moved_bytes_per_second", "compute": "flops_per_second"}


def roof_fractions(result: ResultFile) -> dict[str, float]:
    """By row. A measured row without a prediction does not know its roof: that is the modelled
    run's, of this device and mode, at the height that this file has it. NaN where a row has no
    roof, or not the rate that the roof limits."""
    context = result.context
    known: dict[str, dict[str, Any]] = {}
    if not context.modelled and not result.is_predicted:
        modelled = modelled_run(context.device, context.mode)
        known = {row["name"]: row for row in modelled.timed} if modelled else {}
    return {row["name"]: _fraction(row, known.get(row["name"]), context) for row in result.timed}


def _fraction(
    row: Mapping[str, Any], modelled: Mapping[str, Any] | None, context: Context
) -> float:
    stated = float(row["roof_fraction"])
    if row["roof"] or stated > 0 or modelled is None:
        return stated
    if not modelled["roof_fraction"] > 0:  # its bytes are counted at another memory than the roof's
        return math.nan
    # A file states what was measured of a roof before what its device file says.
    for roof in context.roofs:
        if roof.name == modelled["roof"]:
            return float(row[_AMOUNTS[roof.kind]]) / roof.value
    return math.nan
