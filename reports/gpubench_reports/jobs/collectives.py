"""How long collectives take, from the rows of all_reduce."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpubench_reports.results.checking import number_of

Sweep = tuple[np.ndarray, np.ndarray]  # bytes, ascending, and seconds


@dataclass(frozen=True)
class Collectives:
    """`sweeps` has the rows by kernel and by number of GPUs. A node has `node` GPUs.

    `slower` is for a network unlike the one of the rows: how many times as long as theirs it needs
    for a byte. `rows` are those that all this comes from.
    """

    sweeps: dict[str, dict[int, Sweep]]
    node: int
    slower: float = 1.0
    rows: tuple[dict[str, Any], ...] = ()

    @property
    def inside(self) -> bool:
        """Whether a job may have several GPUs: there are rows of more than one."""
        return bool(self.sweeps.get("all_reduce"))

    @property
    def across(self) -> bool:
        """Whether a job may have several nodes: there are rows of more GPUs than a node has."""
        return max(self.sweeps.get("all_reduce", {}), default=0) > self.node

    def seconds(self, kernel: str, ranks: int, size: float, per_node: int) -> float:
        """A collective on a vector of `size` bytes in all by so many GPUs, `per_node` of each node.

        Across nodes, a group that has few of a node's GPUs has as few of its network cards. There,
        and without rows of its own, a reduce-scatter or an all-gather takes half as long as an
        all-reduce.
        """
        if ranks == 1 or size <= 0:
            return 0.0
        if ranks <= per_node and kernel in self.sweeps:
            return self._lookup(kernel, ranks, size)
        half = 1 if kernel == "all_reduce" else 2
        if ranks <= per_node:
            return self._lookup("all_reduce", ranks, size) / half
        spanned = ranks * self.node // per_node
        cards = self.node / per_node * self.slower
        moved = size * cards * ring_factor(ranks) / ring_factor(spanned)
        return self._lookup("all_reduce", spanned, moved) / half

    def send_seconds(self, size: float, same_node: bool) -> float:
        """From one GPU to one other, through its own network card or NVLink."""
        ranks = self.node if same_node else max(self.sweeps["all_reduce"])
        sizes, seconds = self.sweeps["all_reduce"][self._nearest("all_reduce", ranks)]
        rate = sizes[-1] * ring_factor(ranks) / seconds[-1]
        if not same_node:
            rate /= self.node * self.slower
        # The least row's latency is that of all steps of a ring.
        return float(seconds[0] / max(ranks - 1, 1) + size / rate)

    def _nearest(self, kernel: str, ranks: int) -> int:
        return min(self.sweeps[kernel], key=lambda known: abs(known - ranks))

    def _lookup(self, kernel: str, ranks: int, size: float) -> float:
        """Between the rows' numbers of GPUs. Beyond them, latency goes on growing, and each GPU
        still moves its bytes at the same rate."""
        table = self.sweeps[kernel]
        known = sorted(table)
        if ranks <= known[0]:
            return _at(table[known[0]], size)
        if ranks <= known[-1]:
            return float(np.interp(ranks, known, [_at(table[count], size) for count in known]))
        last = table[known[-1]]
        seconds = _at(last, size)
        if len(known) == 1:
            return seconds
        latency = [float(table[count][1][0]) for count in known[-2:]]
        slope = max(latency[1] - latency[0], 0.0) / (known[-1] - known[-2])
        return seconds + slope * (ranks - known[-1])


def ring_factor(ranks: int) -> float:
    """How often each byte of an all-reduce in a ring crosses the narrowest link."""
    return 2 * (ranks - 1) / ranks


def _at(sweep: Sweep, size: float) -> float:
    """On the line alpha + beta x size through the two rows around this size."""
    sizes, seconds = sweep
    if size > sizes[-1]:
        return float(seconds[-1] * size / sizes[-1])
    return float(np.interp(size, sizes, seconds))


def collectives_of(rows: list[dict[str, Any]], node: int) -> Collectives:
    """From rows of fp32 or 16-bit vectors, out of place; of rows with the same settings, the last
    counts. A number of GPUs with one size says nothing of latency: it is left out."""
    found: dict[str, dict[int, dict[float, dict[str, Any]]]] = {}
    for row in rows:
        if row["concept"] != "all_reduce" or row["arguments"].get("place") != "out":
            continue
        ranks, size = (number_of(row["arguments"].get(name)) for name in ("ranks", "size"))
        if ranks >= 2 and size > 0:
            found.setdefault(row["kernel"], {}).setdefault(int(ranks), {})[size] = row
    sweeps: dict[str, dict[int, Sweep]] = {}
    used: list[dict[str, Any]] = []
    for kernel, by_ranks in found.items():
        for ranks, by_size in by_ranks.items():
            if len(by_size) > 1:
                sizes = sorted(by_size)
                seconds = [by_size[size]["seconds"] for size in sizes]
                sweeps.setdefault(kernel, {})[ranks] = np.array(sizes), np.array(seconds)
                used += by_size.values()
    return Collectives(sweeps, node, rows=tuple(used))
