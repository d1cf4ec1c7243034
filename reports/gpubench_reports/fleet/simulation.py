"""Simulated fleets whose slow GPUs are known. Nothing here was measured on GPUs: the rows and what
they depend on are those of a modelled run, and the noise is assumed."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.fleet.table import PROGRAM, Fleet, machine_name, unsaid
from gpubench_reports.results.baselines import baseline
from gpubench_reports.rules.diagnosis.parts import UNITS, Shares, factors_of, shares

_GPUS_OF_A_NODE, _NODES_OF_A_RACK = 8, 16
_SEVERAL_GPUS = ("all_reduce", "topology")  # concepts that need more than the one GPU
_MOST_TIMES = 6_000_000  # in a fleet: memory for simulating and judging grows with them
_SM = (*UNITS, "tensor", "l1", "shared", "l2")
# What a slow GPU's fault makes longer.
FAULTS = {
    "clock": _SM,
    "device_memory": ("dram",),
    "tensor_cores": ("tensor",),
    "pcie": ("h2d", "d2h"),
}


@dataclass(frozen=True)
class Noise:
    """Standard deviations, as fractions. Every value is assumed."""

    row_low: float = 0.002  # of a row's time from one run to the next; rows differ,
    row_high: float = 0.008  # and each has its own between these
    clock: float = 0.006  # of GPUs' clocks, which no two share
    memory: float = 0.002  # of GPUs' memory
    rack: float = 0.002  # of the clocks of racks: some are warmer
    disturbed: float = 0.001  # share of rows that something else makes slower,
    disturbed_floor: float = 0.02  # by this much
    disturbed_mean: float = 0.03  # and an exponential share of this mean on top

    def line(self) -> str:
        return (
            f"Assumed noise: {self.row_low:.1%} to {self.row_high:.1%} per row, {self.clock:.1%} "
            f"between clocks, {self.memory:.1%} between memories, {self.rack:.1%} between racks; "
            f"{self.disturbed:.1%} of the rows are disturbed, by {self.disturbed_floor:.0%} and "
            f"{self.disturbed_mean:.0%} more on average."
        )


@dataclass(frozen=True)
class Planted:
    """What is wrong in a fleet. A GPU's factor is how many times as long its part takes."""

    gpus: dict[int, tuple[str, float]]
    racks: dict[str, float]
    firmware: np.ndarray  # [gpu] whether it has the other VBIOS


@dataclass(frozen=True)
class Plan:
    """A fleet to simulate."""

    gpus: int = 10_000
    rows: int = 60
    slow: int = 20
    slow_low: float = 1.03
    slow_high: float = 1.30
    racks: tuple[float, ...] = (1.06, 1.10)  # how many times as long the SMs of a rack take
    firmware_share: float = 0.25  # of the GPUs, in whole racks
    firmware_factor: float = 1.04  # how many times as long their Tensor Cores take
    device: str = "h100-sxm"


def simulate(plan: Plan, noise: Noise, seed: int) -> tuple[Fleet, Planted, pd.DataFrame]:
    """The fleet, what is planted in it, and its inventory (node, gpu, rack, slot).

    The same arguments give the same fleet. Raises ReportError for a plan that cannot be.
    """
    if plan.gpus * plan.rows > _MOST_TIMES:
        raise ReportError("--gpus", f"with {plan.rows} rows, at most {_MOST_TIMES // plan.rows}")
    rng = np.random.default_rng(seed)
    table, parts = _rows(plan)
    places = _places(plan.gpus)
    planted = _plant(plan, places, rng)
    logs = np.log(table["seconds"].to_numpy())[None, :] + _slowdowns(
        plan, noise, parts, places, planted, rng
    )
    sigma = np.exp(rng.uniform(np.log(noise.row_low), np.log(noise.row_high), len(table)))
    logs = logs + sigma * rng.standard_normal(logs.shape)
    size = noise.disturbed_floor + rng.exponential(noise.disturbed_mean, logs.shape)
    logs = logs + np.where(rng.random(logs.shape) < noise.disturbed, np.log1p(size), 0.0)
    nobody = np.full(logs.shape, np.nan)
    gpus = places.assign(
        machine=list(map(machine_name, places["node"], places["gpu"])),
        device=plan.device,
        mode="cold",
        **dict.fromkeys(PROGRAM, ""),
        driver="580.82",
        cuda="13.0",
        vbios=np.where(planted.firmware, "96.00.99", "96.00.88"),
        uuid="",
        date="2026-01-01",
        runs=1,
        **unsaid(plan.gpus),
    )
    fleet = Fleet(
        gpus, list(table["name"]), np.exp(logs), nobody, nobody, nobody, absent=(), modelled=True
    )
    return fleet, planted, places


def _rows(plan: Plan) -> tuple[pd.DataFrame, Shares]:
    """Rows of the modelled run, evenly from all of it, and what each depends on."""
    every = baseline(plan.device).ok
    alone = every[~every["concept"].isin(_SEVERAL_GPUS) & (every["seconds"] > 0)]
    if not 1 <= plan.rows <= len(alone):
        raise ReportError("--rows", f"must be from 1 to {len(alone)}")
    chosen = alone.iloc[np.linspace(0, len(alone) - 1, plan.rows).round().astype(int)]
    table = chosen.assign(expected=chosen["seconds"]).sort_values("name").reset_index(drop=True)
    return table, shares(table)


def _places(gpus: int) -> pd.DataFrame:
    number = np.arange(gpus)
    node = number // _GPUS_OF_A_NODE
    return pd.DataFrame(
        {
            "node": [f"node{n:04d}" for n in node],
            "gpu": (number % _GPUS_OF_A_NODE).astype(str),
            "rack": [f"rack{n:03d}" for n in node // _NODES_OF_A_RACK],
            "slot": (node % _NODES_OF_A_RACK).astype(str),
        }
    )


def _plant(plan: Plan, places: pd.DataFrame, rng: np.random.Generator) -> Planted:
    racks = list(places["rack"].unique())
    if len(racks) < 4 * len(plan.racks) or plan.slow > plan.gpus // 4:
        raise ReportError("--gpus", f"{plan.gpus} are too few for what is to be planted in them")
    bad = dict(zip(rng.choice(racks, len(plan.racks), replace=False), plan.racks, strict=True))
    other = set(rng.choice(racks, round(plan.firmware_share * len(racks)), replace=False))
    free = np.flatnonzero(~places["rack"].isin(bad))
    slow = rng.choice(free, plan.slow, replace=False)
    factors = np.linspace(plan.slow_low, plan.slow_high, plan.slow)
    faults = [list(FAULTS)[n % len(FAULTS)] for n in range(plan.slow)]
    return Planted(
        {int(g): (fault, float(f)) for g, fault, f in zip(slow, faults, factors, strict=True)},
        {str(rack): factor for rack, factor in bad.items()},
        places["rack"].isin(other).to_numpy(),
    )


def _slowdowns(
    plan: Plan,
    noise: Noise,
    parts: Shares,
    places: pd.DataFrame,
    planted: Planted,
    rng: np.random.Generator,
) -> np.ndarray:
    """[gpu, row] the logarithm of how many times as long each row takes than on the usual GPU."""

    def of(names: tuple[str, ...], factor: float) -> np.ndarray:
        found: np.ndarray = np.log(parts.slowdown(factors_of(dict.fromkeys(names, factor))))
        return found

    # Small differences are in proportion to how much a row depends on the part.
    clock, memory = (of(names, 1.01) / np.log(1.01) for names in (_SM, ("dram",)))
    _, rack = np.unique(places["rack"], return_inverse=True)
    of_racks = noise.rack * rng.standard_normal(rack.max() + 1)
    clocks = noise.clock * rng.standard_normal(plan.gpus) + of_racks[rack]
    logs = (
        clocks[:, None] * clock + (noise.memory * rng.standard_normal(plan.gpus))[:, None] * memory
    )
    logs[planted.firmware] += of(("tensor",), plan.firmware_factor)
    for name, factor in planted.racks.items():
        logs[(places["rack"] == name).to_numpy()] += of(_SM, factor)
    for gpu, (fault, factor) in planted.gpus.items():
        logs[gpu] += of(FAULTS[fault], factor)
    return np.asarray(logs)
