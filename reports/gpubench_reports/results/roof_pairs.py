"""A run's roofs in pairs: each as it was found, and as the device's file has it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpubench_reports.results.context import Roof

FOUND = ("measured", "modelled")
KINDS = ("bandwidth", "compute")  # in order


@dataclass(frozen=True)
class Pair:
    """A roof's name, as this run found it and as the device's file has it; one may be missing."""

    name: str
    kind: str
    unit: str
    found: Roof | None
    all_filed: tuple[Roof, ...]  # the data sheet's first, then what is known to be reached of it

    @property
    def filed(self) -> Roof | None:
        """What the file says first."""
        return self.all_filed[0] if self.all_filed else None

    @property
    def title(self) -> str:
        """Its name, to be read."""
        return self.name.replace("_", " ")

    @property
    def roofs(self) -> list[Roof]:
        """All that there are."""
        return [*self.all_filed, *([self.found] if self.found else [])]

    @property
    def reach(self) -> float:
        """The highest of them."""
        return max(roof.value for roof in self.roofs)

    @property
    def fraction(self) -> float:
        """Found over filed; NaN where there are not both."""
        if self.found is None or self.filed is None:
            return math.nan
        return self.found.value / self.filed.value


def pairs(roofs: Sequence[Roof]) -> list[Pair]:
    """The roofs by name, bandwidths first, each kind from the lowest on."""
    found = {roof.name: roof for roof in roofs if roof.provenance in FOUND}
    filed: dict[str, list[Roof]] = {}
    for roof in sorted(roofs, key=lambda roof: roof.provenance != "data_sheet"):
        if roof.provenance not in FOUND:
            filed.setdefault(roof.name, []).append(roof)
    either = {name: found.get(name) or filed[name][0] for name in dict.fromkeys([*found, *filed])}
    paired = [
        Pair(name, roof.kind, roof.unit, found.get(name), tuple(filed.get(name, ())))
        for name, roof in either.items()
    ]
    return sorted(paired, key=lambda pair: (KINDS.index(pair.kind), pair.reach))
