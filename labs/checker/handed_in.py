"""What students handed in: where a submission's files should be, and where they are instead."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .course import LabError
from .report import Submission, one_line

NAMES = ("solution.cuh", "answers.toml")
MOST_LOOKED_AT = 1000  # files, of a folder that may hold anything


def submission_in(folder: Path) -> Submission:
    return Submission(*(folder / name for name in NAMES))


def entries(folder: Path) -> list[Path]:
    """One per student, by name. A file gets a row as well, which says so; but not what
    a file manager leaves, such as .DS_Store."""
    found = sorted(folder.iterdir())
    files = {path for path in found if stat.S_ISREG(path.lstat().st_mode)}
    if len(files) == len(found):
        raise LabError(f"{folder}: no folder in it; expected one per student")
    return [path for path in found if path not in files or not path.name.startswith(".")]


def why_ungraded(folder: Path) -> str:
    """Why a student's submission cannot be graded as it was handed in; "" if it can be."""
    if folder.is_symlink():
        return "a link, and no folder of its own"
    if not folder.is_dir():
        return "not a folder"
    missing = [name for name in NAMES if not os.path.lexists(folder / name)]
    instead = [path for name in missing for path in _elsewhere(folder, name)]
    if instead:
        first = one_line(str(instead[0].relative_to(folder)))
        return f"no {' and no '.join(missing)} in the folder itself, but {first}"
    # Answers alone have their points; without them, nothing is looked at.
    if "answers.toml" in missing:
        return f"no {' and no '.join(missing)} in the folder"
    return ""


def _elsewhere(folder: Path, name: str) -> Iterator[Path]:
    """The file as it may be called or placed by accident."""
    looked_at = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            looked_at += 1
            if file.lower() == name:
                yield Path(place, file)
        if looked_at > MOST_LOOKED_AT:
            return
