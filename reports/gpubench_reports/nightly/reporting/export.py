"""The store for others' tools: Parquet, OpenMetrics text, JUnit XML.

Metrics carry the latest values, never the archive; the archive is the store itself.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.units import plural
from gpubench_reports.nightly.judging.history import Standing
from gpubench_reports.nightly.judging.missing import missing_line
from gpubench_reports.nightly.judging.status import status
from gpubench_reports.nightly.reporting.metrics import metrics
from gpubench_reports.nightly.reporting.parquet import write_lake
from gpubench_reports.nightly.reporting.queries import NIGHTS
from gpubench_reports.nightly.reporting.summary import REHEARSAL, standing_line
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.names import folder_name
from gpubench_reports.nightly.store.outputs import write_output
from gpubench_reports.nightly.store.store import Store


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
    return f"{plural(len(rows), 'row')} in {plural(written, 'file')} below {out}"


def openmetrics(store: Store, index: Index, settings: Settings, out: Path) -> Path:
    """Writes the latest values and health as OpenMetrics text; returns the path."""
    write_output(store, out, metrics(store, index, settings).encode())
    return out


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
        # A case has one outcome: an open regression is what is known of a row that failed tonight.
        for case in failures.keys() & errors.keys():
            failures[case] += "; " + errors.pop(case)
        skipped = {case: line for case, line in skipped.items() if case not in errors}
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
    write_output(store, out, ET.tostring(root, encoding="utf-8", xml_declaration=True))
    return out


def _case_name(standing: Standing) -> tuple[str, str]:
    event = standing.event or {}
    return f"{event['device']}/{event['mode']}", event["benchmark"]
