"""What rows can be judged by. Needs no package: what measures on a bare machine reads it."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """What a row can be judged by: its column, its name and its SI unit."""

    column: str
    title: str
    unit: str
    more_is_better: bool  # as of a rate, which grows as time shrinks


TIME = Quantity("seconds", "time", "s", False)
_KNOWN = (
    Quantity("latency_seconds", "latency", "s", False),
    Quantity("load_cycles", "SM clocks per load", "clocks", False),
    Quantity("tokens_per_second", "tokens per second", "/s", True),
    Quantity("items_per_second", "items per second", "/s", True),
    Quantity("useful_bytes_per_second", "useful bandwidth", "B/s", True),
    Quantity("flops_per_second", "arithmetic rate", "FLOP/s", True),
    TIME,
)
# What a request to memory cost; no row is judged by these alone.
REQUEST_QUANTITIES = (
    Quantity("wavefronts_per_request", "wavefronts per request", "", False),
    Quantity("sectors_per_request", "sectors per request", "", False),
)
# Counts of seconds, clocks or energy: names end in what they count, and rates in _per_second.
_COSTS = re.compile(r"(?<!per_)seconds$|cycles$|^joules|^relative_error$")
BY_COLUMN = {quantity.column: quantity for quantity in (*_KNOWN, *REQUEST_QUANTITIES)}


def better_of(column: str) -> str:
    """Whether "higher" or "lower" is better of a figure whose row does not say so."""
    if column in BY_COLUMN:
        return "higher" if BY_COLUMN[column].more_is_better else "lower"
    return "lower" if _COSTS.search(column) else "higher"


def gain(a: float, b: float, better: str) -> float:
    """How many times as good `b` is as `a`, of which "higher" or "lower" is better: B / A of a
    rate, A / B of a time, a latency or clocks."""
    return b / a if better == "higher" else a / b
