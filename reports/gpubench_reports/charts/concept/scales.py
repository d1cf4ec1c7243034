"""How far the y axes of the panels reach, and which are logarithmic."""

from dataclasses import dataclass, replace

import numpy as np

from gpubench_reports.results.sweeps import Panel

# Rates that differ by more than this are drawn on a logarithmic axis.
_LOG_FROM = 30


@dataclass(frozen=True)
class Scale:
    """The y axis of a panel, in SI units; `low` is the least value of a logarithmic one."""

    logarithmic: bool
    low: float
    high: float


def scales_of(drawn: list[Panel]) -> list[Scale]:
    """A y axis for each panel, as alike as they can be.

    All panels of one kernel share theirs; linear ones of one figure end at the same value unless
    that would flatten one of them.
    """
    ranges: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for panel in drawn:
        values = _drawn_values(panel)
        key = (panel.quantity.column, panel.kernel)
        ranges.setdefault(key, []).append((values.min(), values.max()))
    scales = {
        key: Scale(
            any(high > _LOG_FROM * low for low, high in found),
            min(low for low, _ in found),
            max(high for _, high in found),
        )
        for key, found in ranges.items()
    }
    for column in {column for column, _ in scales}:
        linear = {k: s for k, s in scales.items() if k[0] == column and not s.logarithmic}
        highs = [scale.high for scale in linear.values()]
        if linear and max(highs) < 4 * min(highs):
            scales |= {key: replace(scale, high=max(highs)) for key, scale in linear.items()}
    return [scales[panel.quantity.column, panel.kernel] for panel in drawn]


def _drawn_values(panel: Panel) -> np.ndarray:
    columns = ["value", "law_value", "predicted", "low", "high", *claimed_columns(panel)]
    values = np.concatenate([s.rows[columns].to_numpy(float).ravel() for s in panel.series])
    return np.asarray(values[np.isfinite(values) & (values > 0)])


def claimed_columns(panel: Panel) -> list[str]:
    """The column of what a stopwatch says that does not wait for the device, where rows have it."""
    column = f"claimed_{panel.quantity.column}"
    rows = [series.rows for series in panel.series]
    return [column] if column in rows[0] and any(r[column].notna().any() for r in rows) else []
