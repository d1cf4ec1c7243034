"""Prepared questions, in SQL that SQLite and DuckDB both speak.

They are put to one table, `nights`: a row a series and night. Over the index it is a view, over
exported Parquet (a folder, or object storage) the files themselves, so a fleet is asked as one
machine is. `timed` are those of them that have a sound time.
"""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.reporting.parquet import MACHINE, SOURCE, database_for, files_below
from gpubench_reports.nightly.store.index import Index

# What `nights` is over the index; export writes just this.
NIGHTS = """
select s.machine, s.device, s.mode, s.name, v.night, substr(n.date, 1, 10) as date, v.seconds,
  v.first, v.rerun, v.cycles, v.clock_hz, v.power_w, v.temperature_c, v.throttled, v.processes,
  e.driver, e.cuda, e.compiler, e.flags, n.git_commit
from (
    select series, night, environment, seconds, first, rerun, cycles, clock_hz, power_w,
      temperature_c, throttled, processes from value
    union all select series, night, environment, null, null, null, null, clock_hz, power_w,
      temperature_c, throttled, 0 from unsound
  ) v join series s on s.id = v.series
  join environment e on e.id = v.environment
  join night n on n.machine = s.machine and n.number = v.night
"""

# The newest night of each series. A series is of one mode: hot and cold times are two things.
_LATEST = """
select * from (
  select *, row_number() over (partition by machine, device, mode, name order by {newest}) as age
  from timed where name like ?) as ranked
where age = 1"""
# A store counts its nights, also with a clock that was set back. Where several stores and sweeps
# are together, whose numbers are days, only days can be compared.
_IN_INDEX, _IN_LAKE = "night desc", "date desc, night desc, seconds"

_QUESTIONS = {
    "latest": f"""
select machine, device, mode, name, night, date, seconds, clock_hz, temperature_c
from ({_LATEST}) as newest order by machine, device, mode, name""",
    "history": """
select machine, device, mode, name, night, date, seconds, cycles, driver, cuda, git_commit
from timed where name like ? order by machine, device, mode, name, night""",
    "noisiest": """
select machine, device, mode, name, count(*) as nights, avg(seconds) as mean_seconds,
  max(seconds) / min(seconds) - 1 as spread
from timed where name like ? group by machine, device, mode, name
order by spread desc, machine, device, mode, name limit 20""",
    # The newest nights only: one machine's own past is no difference between machines.
    "machines": f"""
select name, device, mode, count(*) as machines, min(seconds) as fastest,
  max(seconds) as slowest, max(seconds) / min(seconds) - 1 as spread
from ({_LATEST}) as newest group by name, device, mode
order by spread desc, name, device, mode limit 50""",
    "health": """
select machine, device, mode, night, date, avg(clock_hz) as clock_hz, max(temperature_c) as
  temperature_c, avg(power_w) as power_w, avg(throttled) as throttled
from nights where name like ? group by machine, device, mode, night, date
order by machine, device, mode, night""",
}

_TIMED = "timed as (select * from nights where seconds is not null)"

Answer = tuple[list[str], Sequence[tuple[Any, ...]]]


def names() -> list[str]:
    return list(_QUESTIONS)


def _question(name: str, newest: str) -> str:
    if name not in _QUESTIONS:
        raise ReportError(name, f"no such question; there are {', '.join(_QUESTIONS)}")
    return _QUESTIONS[name].format(newest=newest)


def over_index(index: Index, name: str, benchmark: str) -> Answer:
    """The answer from one machine's index."""
    return index.table(
        f"with nights as ({NIGHTS}), {_TIMED} {_question(name, _IN_INDEX)}", (benchmark,)
    )


def over_parquet(where: str, name: str, benchmark: str) -> Answer:
    """The answer from exported Parquet in a folder or below an address that DuckDB can read."""
    question = _question(name, _IN_LAKE)
    with database_for(where) as database:
        table = database.execute(
            f"with nights as (select * replace ({MACHINE} as machine,"
            f" cast(date as varchar) as date) from {SOURCE}), {_TIMED} {question}",
            [files_below(where), benchmark],
        )
        return [column[0] for column in table.description], table.fetchall()


def answer(table: Answer) -> str:
    """The answer as a table for the terminal."""
    columns, rows = table
    drawn = Table(*columns, box=None)
    for row in rows:
        drawn.add_row(*("" if cell is None else _cell(cell) for cell in row))
    console = Console(width=200, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip("\n")


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
