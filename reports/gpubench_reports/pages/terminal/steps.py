"""What holds up training steps, in the terminal."""

import math
from collections.abc import Sequence

from rich.console import Console

from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import argument_text, si
from gpubench_reports.comparisons.speedups import labels
from gpubench_reports.pages.columns import NONE
from gpubench_reports.pages.terminal.console import (
    bold,
    new_console,
    print_doubts,
    print_reservations,
    run_text,
    table_of,
)
from gpubench_reports.results.doubts import doubtful
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.steps import Diagnosis, Setting, diagnose_steps, gains, steps_of

YES_OR_NO = {True: "yes", False: "no", None: "-"}
PARTS_IN_WORDS = {
    "compute": "products",
    "bandwidth": "other kernels",
    "overhead": "launches and host",
    "communication": "waiting for gradients",
    "starved": "waiting for tokens",
}


def print_steps(result: ResultFile, others: Sequence[ResultFile]) -> None:
    """Each step with its answers and its wall, then what each switch gains on each device."""
    console = new_console()
    _print_run(console, result)
    found = diagnose_steps(result)
    if not found:
        console.print("no training steps in it: run gpubench with training_step's rows")
        return
    results = [result, *others]
    for one in results:
        of = ""
        if one is not result:
            _print_run(console, one)
            of = f"{clean(str(one.path))}: "
        steps = steps_of(one)
        print_doubts(console, doubtful(one, steps), len(steps), of)
    for diagnosis in found:
        for line in lines_of(diagnosis):
            console.print(line)
    known = known_gains(results)
    if not known:
        return
    columns = [("what if", [switch for switch, _ in known])]
    columns.append(("hidden", [argument_text(hidden) for _, hidden in known]))
    contexts = [one.context for one in results]
    names = labels(contexts) if others else [result.context.device]
    for number, name in enumerate(names):
        columns.append((name, [times(column[number]) for column in known.values()]))
    console.print(table_of(columns))


def _print_run(console: Console, result: ResultFile) -> None:
    console.print(bold(f"{clean(str(result.path))}  {run_text(result.context)}"))
    print_reservations(console, result.context)


def known_gains(results: Sequence[ResultFile]) -> dict[Setting, list[float]]:
    """The switches of which at least one file says what they gain."""
    found = gains(results)
    return {key: column for key, column in found.items() if not all(map(math.isnan, column))}


def lines_of(found: Diagnosis) -> list[str]:
    model = f" ({found.model})" if found.model else ""
    mfu = f"{mfu_of(found)} MFU"
    if of := peak_of(found):
        mfu += f" ({of})"
    head = f"{found.row}{model}: {si(found.seconds, 's')} per step, {mfu}"
    parts = ", ".join(
        f"{found.parts[key] / found.seconds:.1%} {words}" for key, words in PARTS_IN_WORDS.items()
    )
    answers = [f"  {YES_OR_NO[one.yes]:4} {one.question} {one.evidence}" for one in found.answers]
    wall = f"  wall: {found.wall}, {found.share:.0%} of the step: {found.means}"
    wall += f"; then: {found.then}" if found.then else ""
    gain = gain_of(found)
    change = f"  try: {found.change}" + (f" ({gain})" if gain else "")
    return [head, f"  time: {parts}", *answers, wall, change]


def mfu_of(found: Diagnosis) -> str:
    return "unknown" if math.isnan(found.mfu) else f"{found.mfu:.1%}"


def peak_of(found: Diagnosis) -> str:
    """What MFU is a part of, where the file tells."""
    return "" if math.isnan(found.peak) else f"of {si(found.peak, 'FLOP/s')}"


def gain_of(found: Diagnosis) -> str:
    """What the change gains, as far as the file's rows tell."""
    if not math.isnan(found.gain):
        by = f"with:{found.switch}" if found.switch else f"without being {found.wall}"
        return f"{by}: {times(found.gain)} as fast"
    if not math.isnan(found.at_most):
        return f"without this wall: {times(found.at_most)} as fast"
    return ""


def times(gain: float) -> str:
    """How many times as fast, or that nobody knows."""
    return NONE if math.isnan(gain) else f"{gain:.2f}x"
