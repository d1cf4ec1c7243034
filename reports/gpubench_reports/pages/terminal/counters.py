"""The model's counts and times beside the profiler's, in the terminal."""

from collections.abc import Sequence

from rich.text import Text

from gpubench_reports.common.units import plural, si
from gpubench_reports.comparisons.counters import TIME_TOLERANCE, CountComparison, Timed
from gpubench_reports.comparisons.ncu_profile import METRICS
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import bold, new_console, table_of


def print_counters(found: CountComparison) -> None:
    """Prints, for each figure, how many launches agree, and every difference."""
    console = new_console()
    by_figure: dict[str, list[bool]] = {}
    for one in found.differences:
        by_figure.setdefault(one.figure, []).append(bool(one.why))
    figures = [
        f for f in (*METRICS, "resident_blocks", "occupancy") if found.equal[f] or f in by_figure
    ]
    known = [sum(by_figure.get(f, [])) for f in figures]
    console.print(Text(f"launches compared: {found.launches}"))
    if found.unprofiled:
        lacking = plural(len(found.unprofiled), "row")
        console.print(Text(f"not in the profile: {lacking}, such as {found.unprofiled[0]}"))
    console.print(
        table_of(
            [
                ("figure", figures),
                ("launches equal", [str(found.equal[f]) for f in figures]),
                ("differ, explained", [str(n) for n in known]),
                (
                    "differ",
                    [
                        str(len(by_figure.get(f, [])) - n)
                        for f, n in zip(figures, known, strict=True)
                    ],
                ),
            ]
        )
    )
    if found.differences:
        console.print(bold("every difference"))
        console.print(
            table_of(
                [
                    ("name", [d.row for d in found.differences]),
                    ("kernel", [d.kernel for d in found.differences]),
                    ("figure", [d.figure for d in found.differences]),
                    ("model", [f"{d.model:.6g}" for d in found.differences]),
                    ("profiler", [f"{d.profiler:.6g}" for d in found.differences]),
                    ("note", [d.why or "not explained" for d in found.differences]),
                ]
            )
        )
    for words in found.alone:
        console.print(Text(words))


def print_timings(timed: Sequence[Timed]) -> None:
    """Prints the rows whose time is not the profiler's, of those that are long enough."""
    console = new_console()
    held = [one for one in timed if one.expected]
    off = [one for one in held if abs(one.ratio - 1) > TIME_TOLERANCE]
    console.print(
        Text(
            f"times: {len(held) - len(off)} of {len(held)} rows within "
            f"{TIME_TOLERANCE * 100:.0f} % of the profiler's; {len(timed) - len(held)} too short"
        )
    )
    if off:
        console.print(
            table_of(
                [
                    ("name", [one.row for one in off]),
                    ("time", [si(one.seconds, "s") for one in off]),
                    ("profiler", [si(one.profiler_seconds, "s") for one in off]),
                    ("over it", [f"{one.ratio:.3f}" for one in off]),
                    ("note", ["in cycles" if one.in_cycles else NONE for one in off]),
                ]
            )
        )
