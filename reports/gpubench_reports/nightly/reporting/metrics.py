"""The latest values and health of every machine as OpenMetrics text: a file that node-exporter
reads, or what a Pushgateway is sent."""

from urllib.parse import quote

from gpubench_reports.common.dates import moment_of
from gpubench_reports.nightly.judging.status import MachineStatus, status
from gpubench_reports.nightly.reporting.posting import send
from gpubench_reports.nightly.reporting.queries import NIGHTS
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

# The column of a row's latest night, and what it is.
_OF_ROWS = {
    "gpubench_time_seconds": ("seconds", "Median time of the latest night"),
    "gpubench_sm_clock_hertz": ("clock_hz", "SM clock while the row ran"),
    "gpubench_power_watts": ("power_w", "Power while the row ran"),
    "gpubench_temperature_celsius": ("temperature_c", "Highest temperature of the row"),
    "gpubench_throttled_ratio": ("throttled", "Share of the row's processes that throttled"),
}
_OF_MACHINES = {
    "gpubench_open_regressions": "Series slower than their accepted level",
    "gpubench_open_improvements": "Series faster than their accepted level",
    "gpubench_not_judged": "Reasons for which the latest night could not be judged",
    "gpubench_night": "Number of the latest night",
    "gpubench_night_began": "Time at which the latest night began, Unix seconds",
}


def metrics(store: Store, index: Index, settings: Settings, machine: str = "") -> str:
    """The metrics of one machine, or of all."""
    found = [one for one in status(store, index, settings) if machine in ("", one.machine)]
    columns, rows = index.table(
        f"with nights as ({NIGHTS}) select machine, device, mode, name, date, seconds, clock_hz,"
        " power_w, temperature_c, throttled from nights where (machine, night) in (select"
        " machine, max(number) from night where state <> 'duplicate' group by machine)"
        " and ? in ('', machine) order by machine, device, mode, name",
        (machine,),
    )
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    lines = []
    for family, (column, text) in _OF_ROWS.items():
        lines += [
            f"# TYPE {family} gauge",
            f"# UNIT {family} {family.rpartition('_')[2]}",
            f"# HELP {family} {text}.",
        ]
        for record in records:
            if record[column] is not None:
                labels = {key: record[key] for key in ("machine", "device", "mode")}
                labels["benchmark"] = record["name"]
                lines.append(f"{family}{_labels(labels, store)} {record[column]!r}")
    for family, text in _OF_MACHINES.items():
        lines += [f"# TYPE {family} gauge", f"# HELP {family} {text}."]
        for one in found:
            value = _values(one)[family]
            if value is not None:
                lines.append(f"{family}{_labels({'machine': one.machine}, store)} {value}")
    return "\n".join([*lines, "# EOF"]) + "\n"


def push(store: Store, index: Index, settings: Settings, url: str, machine: str) -> None:
    """Puts a machine's metrics in place of those that a Pushgateway has of it. ReportError."""
    text = metrics(store, index, settings, machine)
    group = f"{url.rstrip('/')}/metrics/job/gpubench/machine/{quote(machine, safe='')}"
    send(group, text.encode(), "text/plain; version=0.0.4; charset=utf-8", "PUT")


def _values(one: MachineStatus) -> dict[str, int | None]:
    return {
        "gpubench_open_regressions": len(one.regressions),
        "gpubench_open_improvements": len(one.improvements),
        "gpubench_not_judged": len(one.unjudged),
        "gpubench_night": one.night,
        "gpubench_night_began": _unix(one.date),
    }


def _labels(labels: dict[str, str], store: Store) -> str:
    if store.rehearsal:
        labels = labels | {"rehearsal": "true"}
    escaped = (
        (key, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for key, value in labels.items()
    )
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped) + "}"


def _unix(date: str) -> int | None:
    moment = moment_of(date)
    return int(moment.timestamp()) if moment else None
