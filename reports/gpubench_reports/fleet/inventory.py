"""The inventory: where in the building each GPU is. A CSV file with the columns node, rack and
slot, and gpu where a line is about one GPU of a node."""

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.fleet.table import Fleet, machine_name
from gpubench_reports.results.checking import text_of

_COLUMNS = ("node", "gpu", "rack", "slot")


@dataclass(frozen=True)
class Place:
    rack: str
    slot: str


def read_inventory(path: Path) -> dict[tuple[str, str], Place]:
    """The place of each (node, gpu); gpu is empty where a line is about a whole node.

    Raises ReportError for a file that cannot be read, lacks a column, or names a GPU twice.
    """
    lines = csv.DictReader(io.StringIO(text_of(path), newline=""))
    found: dict[tuple[str, str], Place] = {}
    try:
        columns = lines.fieldnames or ()
        for column in ("node", "rack"):
            if column not in columns:
                raise ReportError(path, f"has no column '{column}'; it needs node and rack")
        for line in lines:
            node, gpu, rack, slot = (clean((line.get(c) or "").strip()) for c in _COLUMNS)
            if not node:
                raise ReportError(path, f"line {lines.line_num}: 'node' is empty")
            if (node, gpu) in found:
                name = machine_name(node, gpu)
                raise ReportError(path, f"line {lines.line_num}: {name} is listed twice")
            found[node, gpu] = Place(rack, slot)
    except csv.Error:
        raise ReportError(path, "is not a CSV file") from None
    return found


def with_places(fleet: Fleet, inventory: dict[tuple[str, str], Place]) -> Fleet:
    """The fleet with racks and slots; what the inventory lists and nobody measured is absent."""
    nowhere = Place(rack="", slot="")
    keys = list(zip(fleet.gpus["node"], fleet.gpus["gpu"], strict=True))
    places = [inventory.get(key) or inventory.get((key[0], ""), nowhere) for key in keys]
    gpus = fleet.gpus.assign(rack=[p.rack for p in places], slot=[p.slot for p in places])
    named = {machine for machine, _ in fleet.absent}
    known = {*keys, *((node, "") for node, _ in keys)}
    missing: list[tuple[str, str]] = []
    for node, gpu in inventory:
        name = machine_name(node, gpu)
        if (node, gpu) not in known and name not in named:
            missing.append((name, "is in the inventory and has no result"))
    return replace(fleet, gpus=pd.DataFrame(gpus), absent=(*fleet.absent, *missing))
