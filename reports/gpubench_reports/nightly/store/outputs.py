"""Files that are made from a store: never in the place of its own."""

import os
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import write_atomically
from gpubench_reports.nightly.store.store import Store

_OWN = ("store.json", "settings.toml", "nights", "decisions", "quarantine", "index.sqlite")


def write_output(store: Store, path: Path, content: bytes) -> None:
    """Writes what was found of the store. Raises ReportError when it cannot, or must not there."""
    refuse_own(store.root, path)
    write_atomically(path, content)


def refuse_own(root: Path, path: Path) -> None:
    """Raises ReportError if `path` is what the store in `root` holds, or will hold."""
    real = Path(os.path.realpath(path))
    own = [os.path.realpath(root / name) for name in _OWN]
    if any(real.is_relative_to(one) for one in own):
        raise ReportError(path, "is read here: a report must not replace what the store holds")
