"""Stores that this process cannot write to: on a read-only mount, or of another user."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.store.store import Store


def to_read(store: Store) -> Store:
    """The store for a command that only asks: read-only if it cannot be written to. Others' nights
    may lie in it, whose verdicts and damaged files have to stay as they are."""
    places = [*_own_places(store), *_folders_of_nights(store)]
    return replace(store, read_only=not all(os.access(place, os.W_OK) for place in places))


def to_write(store: Store) -> Store:
    """The store for a command that changes it. Raises ReportError if that cannot be."""
    for place in _own_places(store):
        if not os.access(place, os.W_OK):
            raise ReportError(place, f"this command has to write here, and {_why(place)}")
    return store


def _own_places(store: Store) -> Iterator[Path]:
    """What every command that writes may have to write to, if it is there."""
    yield store.root
    for name in ("nights", "decisions", "quarantine"):
        if (store.root / name).is_dir():
            yield store.root / name
    if store.index_path.exists():
        yield store.index_path


def _folders_of_nights(store: Store) -> Iterator[Path]:
    for machine in store.machines():
        yield store.root / "nights" / machine
        yield from (night.path for night in store.nights(machine) if night.path.is_dir())


def _why(place: Path) -> str:
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        return "the file system is mounted read-only"
    return "has no permission to"
