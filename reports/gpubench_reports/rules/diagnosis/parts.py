"""How a row's time depends on the parts of a machine: DRAM, the SM's clock, PCIe, the host, ..."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.rules.verdicts.rulebook import number_of

UNITS = ("fp32", "fp64", "fp16x2", "bf16x2", "int32", "sfu", "issue")
MEMORIES = ("dram", "l2", "l1", "shared")
PARTS = (
    *MEMORIES,
    *UNITS,
    "tensor",
    "latency",
    "dram_latency",
    "launch",
    "calls",
    "host",
    "h2d",
    "d2h",
    "pageable",
    "pcie_latency",
    "nvlink",
    "hops",
    "network",
    "work",  # of the host's threads
)
_COLUMN = {part: column for column, part in enumerate(PARTS)}
_LAUNCH = _COLUMN["launch"]
# A row whose terms say less than this of its time is a program of many operations.
_OF_ITS_TIME = 0.7


@dataclass(frozen=True)
class Shares:
    """How much of n rows' time each part takes (n x PARTS, in the row's own seconds), and
    which rows are programs, whose parts take turns. Those of a kernel work at once, so that the
    slowest of them counts; a launch comes on top."""

    seconds: np.ndarray
    takes_turns: np.ndarray

    def slowdown(self, factors: np.ndarray) -> np.ndarray:
        """How many times as long each row takes when part p takes factors[p] times as long."""
        longer: np.ndarray = self._total(factors) / self._total(np.ones(len(PARTS)))
        return longer

    def _total(self, factors: np.ndarray) -> np.ndarray:
        scaled = self.seconds * factors
        launch = scaled[:, _LAUNCH]
        at_once = np.delete(scaled, _LAUNCH, axis=1).max(axis=1) + launch
        total: np.ndarray = np.where(self.takes_turns, scaled.sum(axis=1), at_once)
        return total


def factors_of(parts: dict[str, float]) -> np.ndarray:
    """One factor a part: 1 for those that are not named."""
    found = np.ones(len(PARTS))
    for part, factor in parts.items():
        found[_COLUMN[part]] = factor
    return found


def shares(rows: pd.DataFrame) -> Shares:
    """The shares of rows as ResultFile.ok has them, with the column `expected`, seconds."""
    table = np.zeros((len(rows), len(PARTS)))
    turns = np.zeros(len(rows), dtype=bool)
    for i, row in enumerate(rows.to_dict("records")):
        by_name = _of_program(row)
        found = by_name or _of_kernel(row)
        turns[i] = bool(by_name)
        total = sum(found.values())
        if total == 0:
            found, total = {"latency": 1.0}, 1.0
        for part, seconds in found.items():
            table[i, _COLUMN[part]] = seconds / total if turns[i] else seconds
    return Shares(table, turns)


def _of_kernel(row: dict[str, Any]) -> dict[str, float]:
    terms = row["terms"]
    found = {part: terms[part] for part in PARTS if part in terms}
    if "latency" in found and _waits_for_dram(row):
        found["dram_latency"] = found.pop("latency")
    if "dram" in found:
        found["dram"] += terms.get("queue", 0.0)
    if "link" in terms:
        found[_link_of(row)] = terms["link"]
    busy = max((s for part, s in found.items() if part != "launch"), default=0.0)
    if busy + found.get("launch", 0.0) < _OF_ITS_TIME * row["expected"]:
        return {_part_of_label(row): 1.0}
    return found


def _waits_for_dram(row: dict[str, Any]) -> bool:
    """Whether at least half of what L2 is asked for comes from device memory."""
    moved = row["raw"].get("bytes")
    if not isinstance(moved, dict):
        return False
    dram, l2 = number_of(moved.get("dram")), number_of(moved.get("l2"))
    return dram > l2 / 2


def _of_program(row: dict[str, Any]) -> dict[str, float]:
    """Shares of a row that is known to be a program; empty for others."""
    concept, kernel, label = row["concept"], row["kernel"], row["label"]
    if concept == "host_sync":
        lost = number_of(row["raw"].get("lost_fraction"))
        lost = lost if lost >= 0 else 0.0
        return {"host": lost, "fp32": 1 - lost}
    if concept == "data_pipeline" and kernel == "load":
        return _of_loader(row)
    if concept == "stream_overlap" and label == "link":
        if row["arguments"].get("memory") == "pageable":
            return {"pageable": 1.0}
        return {"h2d": 0.45, "d2h": 0.45, "fp32": 0.1}
    if concept == "transfer" and label == "link":
        return _of_transfer(row, kernel)
    if concept == "all_reduce":
        terms = row["terms"]
        if label == "network":
            return {"network": 0.95, "hops": 0.05}
        waits, moves = terms.get("latency", 0.0), terms.get("link", 0.0)
        if kernel != "two_step" and waits + moves > 0:
            return {"hops": waits, "nvlink": moves}
        return {"nvlink" if label == "link" else "hops": 1.0}
    if label == "launch":  # by a stream, the host's calls set the pace
        return {"calls" if row["arguments"].get("by") == "stream" else "launch": 1.0}
    return {}


def _of_loader(row: dict[str, Any]) -> dict[str, float]:
    """The parts of a loop whose slowest decides; the first item goes through all of them."""
    if row["label"] == "link":
        return {"pageable": 0.9, "host": 0.1}
    return {"work": 1.0} if row["label"] == "host" else {"fp32": 0.9, "work": 0.1}


def _of_transfer(row: dict[str, Any], kernel: str) -> dict[str, float]:
    size = number_of(row["arguments"].get("size"))
    if row["arguments"].get("memory") == "pageable":
        return {"pageable": 1.0}
    if kernel == "peer":
        return {"nvlink": 1.0}
    direction = row["arguments"].get("direction", kernel)
    part = direction if direction in ("h2d", "d2h") else "h2d"
    if size < 1 << 20:  # the shorter, the more of it is the way there
        waits = 1 / (1 + size / 100e3)
        return {"pcie_latency": waits, part: 1 - waits}
    return {part: 1.0}


def _link_of(row: dict[str, Any]) -> str:
    if row["concept"] in ("all_reduce", "topology"):
        return "nvlink"
    if row["concept"] == "memory_hierarchy":  # mapped host memory
        return "h2d"
    return "d2h" if row["kernel"] == "d2h" else "h2d"


def _part_of_label(row: dict[str, Any]) -> str:
    label = row["label"] or ""
    if label.startswith("tensor"):
        return "tensor"
    if label == "link":
        return _link_of(row)
    return label if label in PARTS else "latency"
