"""Who may lean on whom: the rule, and the lines that break it. How a language names what a file
leans on is left to its own test."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Arrow:
    """One file leans on one folder: by an import, or by an include."""

    file: Path
    line: int
    source: str  # the folder that the file lies in
    target: str


def arrows_back(arrows: Iterable[Arrow], layers: Sequence[str]) -> list[str]:
    """The arrows that point up the `layers` (the lowest first), or at a folder that is not among
    them, as "file:line: source -> target". A folder may lean on itself."""
    place = {folder: number for number, folder in enumerate(layers)}
    found = []
    for arrow in arrows:
        unknown = [folder for folder in (arrow.source, arrow.target) if folder not in place]
        if unknown:
            found.append(f"{arrow.file}:{arrow.line}: {unknown[0]} is in no layer")
        elif place[arrow.target] > place[arrow.source]:
            found.append(f"{arrow.file}:{arrow.line}: {arrow.source} -> {arrow.target}")
    return found
