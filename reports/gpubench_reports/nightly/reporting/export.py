"""The store for others' tools: Parquet, OpenMetrics text, JUnit XML.

Metrics carry the latest values, never the archive; the archive is the store itself.
"""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import write_atomically
from gpubench_reports.nightly.judging.history import Standing
from gpubench_reports.nightly.judging.missing import missing_line
from gpubench_reports.nightly.judging.status import status
from gpubench_reports.nightly.reporting.parquet import write_lake
from gpubench_reports.nightly.reporting.queries import NIGHTS
from gpubench_reports.nightly.reporting.summary import REHEARSAL, standing_line
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store, folder_name


def parquet(store: Store, index: Index, settings: Settings, out: Path) -> str:
    """Writes `out`/device=D/date=YYYY-MM-DD/MACHINE.parquet; returns a line that says what.

    Every file is whole or not there; exporting again writes the same files again, and machines
    that share `out` write different ones.
    """
    columns, rows = index.table(NIGHTS)
    if not rows:
        raise ReportError(store.root, "has no values to export")
    import pandas as pd

    nights = pd.DataFrame.from_records(rows, columns=columns)
    of_machines = (
        (folder_name(str(machine)), of_one) for machine, of_one in nights.groupby("machine")
    )
    written = write_lake(of_machines, store.rehearsal, out)
    return f"{len(rows)} rows in {written} files below {out}"


def openmetrics(store: Store, index: Index, settings: Settings, out: Path) -> Path:
    """Writes the latest values and health as OpenMetrics text; returns the path."""
    found = status(store, index, settings)
    columns, rows = index.table(
        f"with nights as ({NIGHTS}) select machine, device, mode, name, date, seconds, clock_hz,"
        " power_w, temperature_c, throttled from (select *, max(night) over (partition by"
        " machine, device, mode) as latest from nights) as ranked"
        " where night = latest order by machine, device, mode, name"
    )
    families = {
        "gpubench_time_seconds": ("seconds", "Median time of the latest night"),
        "gpubench_sm_clock_hertz": ("clock_hz", "SM clock while the row ran"),
        "gpubench_power_watts": ("power_w", "Power while the row ran"),
        "gpubench_temperature_celsius": ("temperature_c", "Highest temperature of the row"),
        "gpubench_throttled_ratio": ("throttled", "Share of the row's processes that throttled"),
    }
    lines = []
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    for family, (column, text) in families.items():
        lines += [
            f"# TYPE {family} gauge",
            f"# UNIT {family} {family.rpartition('_')[2]}",
            f"# HELP {family} {text}.",
        ]
        for record in records:
            if record[column] is not None:
                labels = {
                    "machine": record["machine"],
                    "device": record["device"],
                    "mode": record["mode"],
                    "benchmark": record["name"],
                }
                lines.append(f"{family}{_labels(labels, store)} {record[column]!r}")
    for family, text in (
        ("gpubench_open_regressions", "Series slower than their accepted level"),
        ("gpubench_open_improvements", "Series faster than their accepted level"),
        ("gpubench_not_judged", "Reasons for which the latest night could not be judged"),
        ("gpubench_night", "Number of the latest night"),
        ("gpubench_night_began", "Time at which the latest night began, Unix seconds"),
    ):
        lines += [f"# TYPE {family} gauge", f"# HELP {family} {text}."]
        for one in found:
            value = {
                "gpubench_open_regressions": len(one.regressions),
                "gpubench_open_improvements": len(one.improvements),
                "gpubench_not_judged": len(one.unjudged),
                "gpubench_night": one.night,
                "gpubench_night_began": _unix(one.date),
            }[family]
            lines.append(f"{family}{_labels({'machine': one.machine}, store)} {value}")
    write_atomically(out, ("\n".join([*lines, "# EOF"]) + "\n").encode())
    return out


def _labels(labels: dict[str, str], store: Store) -> str:
    if store.rehearsal:
        labels = labels | {"rehearsal": "true"}
    escaped = (
        (key, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
        for key, value in labels.items()
    )
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped) + "}"


def _unix(date: str) -> int:
    try:
        return int(datetime.fromisoformat(date).astimezone(UTC).timestamp())
    except ValueError:
        return 0


def junit(store: Store, index: Index, settings: Settings, out: Path) -> Path:
    """Writes the latest nights as JUnit XML: a suite a machine, a case a series; returns the path.

    An open regression is a failure, what could not be judged an error, an acknowledged one skipped.
    """
    root = ET.Element("testsuites", name="gpubench nights")
    for one in status(store, index, settings):
        failures = {_case_name(s): standing_line(s).strip() for s in one.regressions}
        skipped = {_case_name(s): standing_line(s).strip() for s in one.acknowledged}
        names = [
            (f"{device}/{mode}", name)
            for device, mode, name in index.rows(
                "select s.device, s.mode, s.name from value v join series s on s.id = v.series"
                " where s.machine = ? and v.night = ? order by s.device, s.mode, s.name",
                (one.machine, one.night),
            )
        ]
        missing = one.verdict.get("missing", [])
        errors = {
            (f"{entry['device']}/{entry['mode']}", entry["benchmark"]): missing_line(entry)
            for entry in missing
        }
        of_night = one.unjudged[: len(one.unjudged) - len(missing)]
        errors |= {("night", f"{one.night}.{n}"): line for n, line in enumerate(of_night, start=1)}
        cases = list(dict.fromkeys([*names, *failures, *skipped, *errors]))
        title = one.machine + (f" ({REHEARSAL})" if store.rehearsal else "")
        suite = ET.SubElement(
            root,
            "testsuite",
            name=title,
            timestamp=one.date[:19],
            tests=str(len(cases)),
            failures=str(len(failures)),
            errors=str(len(errors)),
            skipped=str(len(skipped)),
        )
        for case in cases:
            element = ET.SubElement(suite, "testcase", classname=case[0], name=case[1])
            for group, tag in ((errors, "error"), (failures, "failure"), (skipped, "skipped")):
                if case in group:
                    ET.SubElement(element, tag, message=group[case])
                    break
    ET.indent(root)
    write_atomically(out, ET.tostring(root, encoding="utf-8", xml_declaration=True))
    return out


def _case_name(standing: Standing) -> tuple[str, str]:
    event = standing.event or {}
    return f"{event['device']}/{event['mode']}", event["benchmark"]
