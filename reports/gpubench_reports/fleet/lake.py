"""Parquet: reads a fleet from it with DuckDB, local or in an object store, and writes one.

The columns are those of `gpubench-nightly export parquet`: one line per machine, row and night. Of
each GPU, the latest day counts, and on one day a sweep rather than a night. A fleet's own files
also have vbios, uuid and runs.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.dates import moment_of
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import plural
from gpubench_reports.fleet.table import MATRICES, PROGRAM, STATE, Fleet, node_and_gpu, unsaid
from gpubench_reports.nightly.reporting import parquet
from gpubench_reports.nightly.reporting.parquet import MACHINE, SOURCE, database_for, files_below

_NEEDED = ("machine", "device", "mode", "name", "night", "date", "seconds")
_WORDS = (*PROGRAM, "driver", "cuda", "vbios", "uuid")


def is_lake(where: str) -> bool:
    """Whether it is an address of an object store, or a folder with Parquet in it."""
    if "://" in where:
        return True
    folder = Path(where)
    return folder.is_dir() and next(folder.rglob("*.parquet"), None) is not None


def read_lake(where: str, since: str = "") -> Fleet:
    """The fleet in the Parquet files below `where`; nights before the date `since` are left out.

    Raises ReportError where there is none, a column is missing, or modelled and measured results
    are mixed.
    """
    with database_for(where) as database:
        _take(database, where, since)
        return _fleet(database, where)


def _take(database: Any, where: str, since: str) -> None:
    """Makes the table `latest`: a number for each machine and each row, and what was measured."""
    files = files_below(where)
    columns = {line[0] for line in database.execute(f"describe from {SOURCE}", [files]).fetchall()}
    absent = [name for name in _NEEDED if name not in columns]
    if absent:
        raise ReportError(where, f"has no column '{absent[0]}'; is this a gpubench export?")
    words = ", ".join(
        f"coalesce(cast({name} as varchar), '') as {name}" if name in columns else f"'' as {name}"
        for name in _WORDS
    )
    numbers = ", ".join(
        f"cast({name} as double) as {name}" if name in columns else f"cast(null as double) {name}"
        for name in STATE
    )
    program = "".join(f", coalesce({name}, '')" for name in PROGRAM if name in columns)
    # A sweep has runs, a night has processes, and a lake may hold both.
    runs = ", ".join([*(name for name in ("runs", "processes") if name in columns), "1"])
    rehearsal = "coalesce(rehearsal, false)" if "rehearsal" in columns else "false"
    database.execute(
        "create temp table latest as select *,"
        " dense_rank() over (order by machine, device, mode) - 1 as g,"
        " dense_rank() over (order by name) - 1 as r from ("
        f"select machine, device, mode, name, date, seconds, coalesce({runs}) as runs,"
        f" {rehearsal} as modelled, {words}, {numbers} from"
        f" (select * replace ({MACHINE} as machine, cast(date as varchar) as date) from {SOURCE})"
        " where date >= ? and seconds > 0"
        # Stores count their nights, a sweep's number is its day: only days can be compared. Of two
        # programs on one day, one counts: their times are never mixed.
        " qualify rank() over (partition by machine, device, mode"
        f" order by date desc, night desc{program}) = 1"
        # A GPU may be in several sweeps of one night: its shortest times count, as in a folder.
        " and row_number() over (partition by machine, device, mode, date, night, name"
        " order by seconds) = 1)",
        [files, since],
    )


def _fleet(database: Any, where: str) -> Fleet:
    kinds = [
        line[0] for line in database.execute("select distinct modelled from latest").fetchall()
    ]
    if not kinds:
        raise ReportError(where, "holds no results")
    if len(kinds) > 1:
        raise ReportError(where, "mixes modelled and measured results; judge them apart")
    names = database.execute("select name from latest group by name, r order by r").fetchall()
    words = ", ".join(f"max({name}) as {name}" for name in _WORDS)
    gpus: pd.DataFrame = database.execute(
        f"select machine, device, mode, {words}, max(date) as date, max(runs) as runs from latest"
        " group by g, machine, device, mode order by g"
    ).df()
    for column in ("machine", "device", "mode", *_WORDS, "date"):
        gpus[column] = [clean(word) for word in gpus[column]]
    split = [node_and_gpu(machine) for machine in gpus["machine"]]
    gpus = gpus.assign(
        node=[node for node, _ in split],
        gpu=[gpu for _, gpu in split],
        rack="",
        slot="",
        **unsaid(len(split)),
    )
    values = database.execute(f"select g, r, {', '.join(MATRICES)} from latest").fetchnumpy()
    at = values["g"], values["r"]
    matrices = {}
    for name in MATRICES:
        matrices[name] = np.full((len(gpus), len(names)), np.nan)
        matrices[name][at] = np.ma.filled(values[name].astype(float), np.nan)
    rows = [clean(name) for (name,) in names]
    return Fleet(gpus, rows, **matrices, absent=(), modelled=bool(kinds[0]))


def write_lake(fleet: Fleet, out: Path) -> str:
    """Writes `out`/device=D/date=YYYY-MM-DD/fleet-ID.parquet; returns a line that says what.

    ID stands for the GPUs' names and modes: the file of an earlier sweep of the same GPUs in the
    same mode on the same day is replaced, those of other GPUs stay. Raises ReportError where a
    GPU's result does not say when it was measured, and as parquet.write_lake does.
    """
    for machine, date in zip(fleet.gpus["machine"], fleet.gpus["date"], strict=True):
        if not date:
            raise ReportError(machine, "its result file has no date")
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date) or not moment_of(date):
            raise ReportError(machine, f"its result file's date, {date!r}, is no day: YYYY-MM-DD")
    known = np.isfinite(fleet.seconds)
    gpu, row = np.nonzero(known)
    kept = ["machine", "device", "mode", *_WORDS, "date", "runs"]
    table = fleet.gpus[kept].iloc[gpu].reset_index(drop=True)
    table = table.assign(
        name=np.array(fleet.names, dtype=object)[row],
        night=[int(date.replace("-", "")) for date in table["date"]],
        **{name: getattr(fleet, name)[known] for name in MATRICES},
    )
    lines = sorted(set(zip(fleet.gpus["machine"], fleet.gpus["mode"], strict=True)))
    names = "\n".join(f"{machine}\t{mode}" for machine, mode in lines).encode("utf-8")
    of_gpus = f"fleet-{hashlib.sha256(names).hexdigest()[:12]}"
    parquet.write_lake([(of_gpus, table)], fleet.modelled, out)
    return f"{plural(len(table), 'row')} of {plural(fleet.size, 'GPU')} below {out}"
