"""Other programs' answers beside ours, in the terminal."""

import math
from collections.abc import Sequence

from gpubench_reports.common.units import si
from gpubench_reports.comparisons.peers.answers import WIDTH, Answer, PeerComparison
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import new_console, table_of


def print_peers(found: Sequence[PeerComparison]) -> None:
    """Prints every program's answers beside ours."""

    def seconds(answer: Answer | None) -> str:
        known = answer is not None and math.isfinite(answer.seconds)
        return si(answer.seconds, "s") if answer and known else NONE

    def value(one: PeerComparison, answer: Answer | None) -> str:
        return NONE if answer is None else si(answer.value, one.what.unit)

    console = new_console()
    console.print(
        table_of(
            [
                ("what", [one.what.name for one in found]),
                ("program", [one.theirs.program for one in found]),
                ("finds", [value(one, one.theirs) for one in found]),
                ("gpubench", [value(one, one.ours) for one in found]),
                ("over it", [f"{one.ratio:.3f}" if one.ratio else NONE for one in found]),
                (f"needs for ± {WIDTH * 100:.1f} %", [seconds(one.theirs) for one in found]),
                ("gpubench needs", [seconds(one.ours) for one in found]),
                (
                    "note",
                    [
                        one.what.note
                        or ("" if one.ours else "gpubench has no such row yet")
                        or NONE
                        for one in found
                    ],
                ),
            ]
        )
    )
