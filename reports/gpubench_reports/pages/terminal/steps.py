"""What holds up training steps, in the terminal."""

import math
from collections.abc import Sequence

from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import si
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import bold, new_console, run_text, table_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.steps import Diagnosis, diagnose_steps, gains


def print_steps(result: ResultFile, others: Sequence[ResultFile]) -> None:
    """Each step with its answers and its wall, then what each switch gains on each device."""
    console = new_console()
    console.print(bold(f"{clean(str(result.path))}  {run_text(result.context)}"))
    found = diagnose_steps(result)
    if not found:
        console.print(
            "no training steps in it: run gpubench with training_step's rows"
        )
        return
    for diagnosis in found:
        for line in lines_of(diagnosis):
            console.print(line)
    results = [result, *others]
    devices = [one.context.device for one in results]
    known = gains(results)
    columns = [("what if", [switch for switch, _ in known])]
    columns.append(("hidden", [str(hidden) for _, hidden in known]))
    for number, device in enumerate(devices):
        columns.append((device, [times(column[number]) for column in known.values()]))
    console.print(table_of(columns))


def lines_of(found: Diagnosis) -> list[str]:
    head = f"{found.row}: {si(found.seconds, 's')} per step, {found.mfu:.1%} MFU"
    answers = [
        f"  {'yes' if one.yes else 'NO':4} {one.question} {one.evidence}" for one in found.answers
    ]
    wall = f"  wall: {found.wall}, {found.share:.0%} of the step: {found.means}"
    switch = f" (with:{found.switch})" if found.switch else ""
    gain = f"; predicted: {times(found.gain)} as fast" if not math.isnan(found.gain) else ""
    return [head, *answers, wall, f"  try: {found.change}{switch}{gain}"]


def times(gain: float) -> str:
    """How many times as fast, or that nobody knows."""
    return NONE if math.isnan(gain) else f"{gain:.2f}x"
