"""What students handed in: where a submission's files should be, and where they are instead."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .course import LabError
from .report import Submission, one_line

NAMES = ("solution.cuh", "answers.toml")
# How the names of source files end, and of archives, which may hold some.
OF_CODE = (
    *(".cu", ".cuh", ".cc", ".cpp", ".cxx", ".c", ".h", ".hh", ".hpp", ".ptx", ".py", ".ipynb"),
    *(".zip", ".gz", ".tgz", ".xz", ".tar", ".7z", ".rar"),
)
# A folder may hold anything: what is looked at of it.
MOST_LOOKED_AT = 1000  # files
MOST_DEPTH = 20  # folders within one another


def submission_in(folder: Path) -> Submission:
    return Submission(*(folder / name for name in NAMES))


def require_folder(path: Path) -> None:
    """LabError, unless files can be read in it."""
    if not stat.S_ISDIR(path.stat().st_mode):
        raise LabError(f"{path}: not a folder")


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
    return misplaced(folder)


def misplaced(folder: Path) -> str:
    """The files that a folder lacks, and what seems to be there instead; "" if it can be graded.
    Answers alone can be: they have their points."""
    missing = [name for name in NAMES if not os.path.lexists(folder / name)]
    if not missing:
        return ""
    lacks = f"no {' and no '.join(missing)} in the folder"
    if instead := next((path for name in missing for path in _instead(folder, name)), None):
        return f"{lacks} itself, but {one_line(str(instead.relative_to(folder)))}"
    return lacks if "answers.toml" in missing else ""


def _instead(folder: Path, name: str) -> list[Path]:
    """The file as it may be called or placed by accident: first those of the right name, then
    what looks like one."""
    files = list(_files(folder))
    same = [path for path in files if path.name.lower() == name]
    return same + [path for path in files if _looks_like(path.name.lower(), name)]


def _looks_like(file: str, name: str) -> bool:
    """Whether a browser, an editor or a student may have made `file` of what is called `name`."""
    if name == "solution.cuh" and file.endswith(OF_CODE):
        return True
    return name.partition(".")[0].rstrip("s") in file


def _files(folder: Path) -> Iterator[Path]:
    """But hidden ones, which systems and editors leave."""
    looked_at = 0
    for place, folders, files in os.walk(folder):
        looked_at += 1
        is_deep = len(Path(place).relative_to(folder).parts) >= MOST_DEPTH
        folders[:] = sorted(one for one in folders if not (one.startswith(".") or is_deep))
        for file in sorted(files):
            looked_at += 1
            if not file.startswith("."):
                yield Path(place, file)
        if looked_at > MOST_LOOKED_AT:
            return
