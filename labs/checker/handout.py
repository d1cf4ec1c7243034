"""What instructors hand out: the students' tree, and an autograder's bundle."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .course import Lab, LabError, all_labs, seals
from .temporary import temporary_folder

# What the checker is built and run from; the suite's own concepts are reading, and come along.
TREE = (
    "CMakeLists.txt",
    "CMakePresets.json",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "bench",
    "docs",
    "kernels",
    "harness",
    "labs",
    "reports",
    "scripts",
)


def require_checkout(root: Path) -> None:
    """LabError: an installed course builds solutions with what is installed beside it."""
    lacking = [name for name in TREE if not (root / name).exists()]
    if lacking:
        raise LabError(
            f"{root}: has no {lacking[0]}. Handouts and autograders hold all that builds a "
            "checker, so export them from a checkout of gpubench, not from an installed course"
        )


def is_instructors(path: Path) -> bool:
    """Reference solutions, wrong answers and answers: labs/NN-name/reference/..."""
    return len(path.parts) > 2 and path.parts[0] == "labs" and path.parts[2].startswith("reference")


def _git(root: Path, *words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{root}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


def left_out(root: Path) -> list[str]:
    """What the tree has and HEAD has not, or not so: solutions, copies, other people's folders."""
    status = _git(root, "status", "--porcelain", "-z", "-uall", "--no-renames", "--", *TREE)
    return sorted(os.fsdecode(entry)[3:] for entry in status.split(b"\0") if entry)


@contextmanager
def tree_at_head(root: Path) -> Iterator[Path]:
    """A copy of the tree as git has it at HEAD: whoever solves a lab in this checkout hands out no
    answer."""
    with temporary_folder("gpubench-lab-") as head:
        archive = io.BytesIO(_git(root, "archive", "--format=tar", "HEAD", "--", *TREE))
        with tarfile.open(fileobj=archive) as tree:
            tree.extraction_filter = lambda member, _: member  # it is trusted: this checkout's
            tree.extractall(head)
        yield head


def export_students(root: Path, to: Path) -> int:
    """Writes the handout to `to`, which must not exist; returns how many files."""
    if to.exists() and any(to.iterdir()):
        raise LabError(f"{to}: is not empty")
    count = 0
    with tree_at_head(root) as head:
        for path in sorted(head.rglob("*")):
            within = path.relative_to(head)
            if is_instructors(within) or (path.is_dir() and not path.is_symlink()):
                continue
            target = to / within
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
            count += 1
        for lab in all_labs(head):
            sealed = to / "labs" / lab.folder.name / "sealed.toml"
            sealed.write_text(
                "# Fingerprints of the answers: they confirm one and reveal none.\n"
                + "".join(f'{name} = "{value}"\n' for name, value in seals(lab).items()),
                encoding="utf-8",
            )
    return count


SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, when it makes the image.
set -euo pipefail
cd /autograder/source
apt-get update -q && apt-get install -q -y --no-install-recommends bubblewrap ||
  echo "no bubblewrap: reports will say what submissions run in instead" >&2
scripts/lab --setup {number}
"""
RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission.
set -euo pipefail
cd /autograder/source
scripts/lab gradescope {number} --submission /autograder/submission \\
  --results /autograder/results/results.json
"""


def export_autograder(root: Path, lab: Lab, to: Path) -> int:
    """One zip for Gradescope: setup.sh, run_autograder, and the tree with the reference."""
    if not lab.reference.exists():
        raise LabError(f"{lab.reference}: an autograder needs the reference; this is a handout")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tree_at_head(root) as head:
        if not (head / lab.reference.relative_to(root)).exists():
            raise LabError(
                f"{lab.reference}: is not at HEAD, from which the bundle is made; commit it first"
            )
        others = {other.folder.name for other in all_labs(head)} - {lab.folder.name}
        files = [
            path
            for path in sorted(head.rglob("*"))
            if path.is_file()
            and not (is_instructors(within := path.relative_to(head)) and within.parts[1] in others)
        ]
        names = [str(path.relative_to(head)) for path in files]
        if strange := [name for name in names if not name.isprintable()]:
            raise LabError(f"{root}: a name in it is not plain text: {strange[0]!r}")
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in (("setup.sh", SETUP), ("run_autograder", RUN)):
                entry = zipfile.ZipInfo(name)
                entry.external_attr = 0o755 << 16
                bundle.writestr(entry, text.format(number=lab.number))
            for path, name in zip(files, names, strict=True):
                bundle.write(path, name)
    return len(files) + 2
