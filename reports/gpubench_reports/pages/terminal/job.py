"""Jobs on many GPUs, in the terminal."""

from collections.abc import Sequence

from gpubench_reports.jobs.forecast import Forecast
from gpubench_reports.pages.job_report import batch_text, columns_of
from gpubench_reports.pages.terminal.console import (
    bold,
    new_console,
    print_doubts,
    print_reservations,
    run_text,
    table_of,
)


def print_forecasts(forecasts: Sequence[Forecast]) -> None:
    """A table per device."""
    console = new_console()
    for forecast in forecasts:
        console.print(bold(f"{run_text(forecast.context)}, {batch_text(forecast)}"))
        print_reservations(console, forecast.context)
        print_doubts(console, forecast.doubts, forecast.rows)
        console.print(table_of(columns_of(forecast)))
