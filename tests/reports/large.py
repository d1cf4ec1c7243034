"""A measured-looking file of as many rows as asked for, of all concepts: the planted device's, and
between them rows with other arguments."""

from __future__ import annotations

import copy
import random
from typing import Any

from . import planted
from .situations import measured


def document(rows: int, seed: int = 0) -> dict[str, Any]:
    """The healthy device's file, grown to `rows` rows."""
    found = measured(seed, "")
    rng = random.Random(seed)
    grown = found["benchmarks"]
    names = {row["name"] for row in grown}
    for step in range(1, 20):
        for row in list(grown):
            if len(grown) >= rows:
                return found
            axis = next(
                (a for a, v in row["arguments"].items() if isinstance(v, int) and v > 1), ""
            )
            if not axis:
                continue
            again = copy.deepcopy(row)
            again["arguments"][axis] += step
            given = "/".join(f"{name}:{value}" for name, value in again["arguments"].items())
            again["name"] = again["run_name"] = f"{row['concept']}/{row['kernel']}/{given}"
            if again["name"] in names:
                continue
            names.add(again["name"])
            again["spread"] = 0.003
            planted.measure(again, row["real_time"] * 1e-6 * rng.gauss(1, 0.02), rng)
            grown.append(again)
    raise ValueError(f"no more than {len(grown)} rows")
