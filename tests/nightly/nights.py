"""Nights through the command: rows, the store, the command itself."""

import sys
from pathlib import Path

from gpubench_reports.nightly.store.store import Store

from .conftest import put_night

ROWS = {"stream/read/n:1": 1e-4, "stream/copy/n:1": 2e-4, "gather/n:4": 3e-4}


def opened(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "nights", rehearsal=False)


def command(tmp_path: Path, program: Path, *flags: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "gpubench_reports.nightly",
        "run",
        "--machine=lab",
        f"--store={tmp_path / 'nights'}",
        f"--program={program}",
        *flags,
    ]


def put_quiet_nights(folder: Path) -> None:
    """Makes the store `folder`/nights, with eleven nights of ROWS as the pretended GPU has them."""
    store = Store.open(folder / "nights", rehearsal=False, create=True)
    for _ in range(11):
        put_night(
            store,
            ROWS,
            device="fake",
            device_title="NVIDIA Fake",
            driver_version="580",
            cuda_version="13.0",
            compiler="nvcc",
            compiler_flags="-O3",
        )
