"""Profiles as ncu writes its raw page: titles, a line of units, a line a launch, all in quotes."""

import csv
import io
from collections.abc import Mapping, Sequence

from gpubench_reports.comparisons.ncu_profile import METRICS

RANGE = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
_LEAD = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    RANGE,
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
_UNITS = {
    "gpu__time_duration.sum": "ns",
    "sm__cycles_elapsed.max": "cycle",
    "sm__maximum_warps_per_active_cycle_pct": "%",
}

# A launch: its row, its kernel's signature, its metrics.
Launch = tuple[str, str, Mapping[str, float]]


def ncu_csv(launches: Sequence[Launch]) -> str:
    """The file. Numbers have separators of thousands, as ncu writes them."""
    titles = sorted({metric for _, _, metrics in launches for metric in metrics})
    stream = io.StringIO()
    stream.write("==PROF== Connected to process 42 (gpubench-cuda)\n")
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([*_LEAD, *titles])
    writer.writerow([""] * len(_LEAD) + [_UNITS.get(title, "") for title in titles])
    for number, (row, kernel, metrics) in enumerate(launches):
        named = f'1  "<default domain>:{row}:none:none:none:none:none:none"' if row else ""
        writer.writerow(
            [
                number,
                42,
                "gpubench-cuda",
                "host",
                named,
                kernel,
                1,
                7,
                "(256, 1, 1)",
                "(1, 1, 1)",
                0,
                "9.0",
            ]
            + [f"{metrics[title]:,.6f}" if title in metrics else "" for title in titles]
        )
    stream.write("==PROF== Disconnected from process 42\n")
    return stream.getvalue()


def metrics_of(figures: Mapping[str, float]) -> dict[str, float]:
    """What a profiler that counts as the model does says of a launch with these figures."""
    found = {}
    for figure, group in METRICS.items():
        value = figures.get(figure, 0.0)
        found |= dict.fromkeys(group, 0.0) | {group[0]: value}
    blocks = figures["resident_blocks"]
    found |= {
        f"launch__occupancy_limit_{what}": blocks + extra
        for extra, what in enumerate(("registers", "blocks", "shared_mem", "warps"))
    }
    return found | {"sm__maximum_warps_per_active_cycle_pct": figures["occupancy"] * 100}
