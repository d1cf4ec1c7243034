"""Parquet by DuckDB: where a lake's files lie, and how they are read and written."""

import glob
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.extras import load_module
from gpubench_reports.common.files import ensure_directory, reason, write_atomically
from gpubench_reports.nightly.store.store import KINDS

if TYPE_CHECKING:
    import pandas as pd

# What a query of a lake selects from; its parameter is files_below(where).
SOURCE = "read_parquet(?, hive_partitioning = true, union_by_name = true)"
# A GPU has one name in sweeps and in nights, whose machine cannot have '/' in its name.
MACHINE = r"regexp_replace(machine, '-gpu([0-9]+)$', '/gpu\1')"


def folder_for(where: str) -> Path:
    """The folder that a lake is written to.

    Raises ReportError for an address, of which a path would make a folder in this one.
    """
    if "://" in where:
        raise ReportError(where, "is an address: write into a folder, then copy that there")
    return Path(where)


def files_below(where: str) -> str:
    """The Parquet files in a folder or below an address that DuckDB can read."""
    place = where if "://" in where else glob.escape(where)
    return f"{place.rstrip('/')}/**/*.parquet"


@contextmanager
def database_for(subject: object, doing: str = "") -> Iterator[Any]:
    """A DuckDB database in memory. Its errors become a ReportError: `subject` and, after the words
    `doing`, what was wrong."""
    duckdb = load_module("duckdb", "Parquet", "fleet")
    with duckdb.connect() as database:
        try:
            yield database
        except duckdb.Error as error:
            said = str(error).split("\n\n")[0]  # what follows quotes the query
            raise ReportError(subject, doing + " ".join(said.split())) from None


def write_lake(tables: Iterable[tuple[str, "pd.DataFrame"]], rehearsal: bool, out: Path) -> int:
    """Writes each (name, table) as `out`/device=D/date=YYYY-MM-DD/NAME.parquet, with a column that
    says whether it is a rehearsal; returns how many files these are.

    A file is whole or not there, and replaces one of its name. Raises ReportError where it cannot
    write, or `out` holds results of the other kind.
    """
    kinds = [out / f"{kind}.kind" for kind in KINDS]
    written = 0
    with database_for(out, "cannot write: ") as database:
        ensure_directory(out)
        if kinds[not rehearsal].exists():
            raise ReportError(
                out, "holds results of the other kind: measured and modelled never mix"
            )
        write_atomically(kinds[rehearsal], b"")
        database.execute("set threads = 1")  # so that there is one file per device and date
        try:
            with tempfile.TemporaryDirectory(dir=out, prefix=".") as made:
                for name, table in tables:
                    database.register("results", table.assign(rehearsal=rehearsal))
                    folder = Path(made) / name
                    quoted = str(folder).replace("'", "''")
                    database.execute(
                        f"copy results to '{quoted}' (format parquet, partition_by (device, date))"
                    )
                    for part in sorted(folder.rglob("*.parquet")):
                        place = out / part.parent.relative_to(folder) / f"{name}.parquet"
                        place.parent.mkdir(parents=True, exist_ok=True)
                        part.replace(place)
                        written += 1
        except OSError as error:
            raise ReportError(out, f"cannot write: {reason(error)}") from None
    return written
