"""Whether what changed is the machine: another GPU in its place, or much at once in a week."""

from itertools import pairwise

from gpubench_reports.nightly.judging.history import SUITE_WIDE, MachineHistory
from gpubench_reports.nightly.rule.regression import RETURN
from gpubench_reports.nightly.rule.settings import Settings

WEEK = 7  # nights
_FEWEST = 8  # more series than these have to change in a week, in a small suite too
_TITLES = {"uuid": "UUID", "serial": "serial number", "vbios": "VBIOS", "ecc": "ECC"}


def machine_first(history: MachineHistory, judged: int, settings: Settings) -> list[str]:
    """Why to look at the machine before the program; nothing if there is no reason to."""
    nights = sorted(history.nights)[-WEEK:]
    found = _other_gpu(history, nights)
    changed = {
        key
        for key, events in history.events.items()
        for event in events
        if event["night"] in nights and event["kind"] != RETURN and key[2] != SUITE_WIDE
    }
    if is_much(len(changed), judged, settings):
        span = f"nights {nights[0]} to {nights[-1]}" if len(nights) > 1 else f"night {nights[0]}"
        found.append(f"{len(changed)} of {judged} series changed in {span}")
    return found


def is_much(changed: int, judged: int, settings: Settings) -> bool:
    """Whether so many series change in a week for a reason that they share."""
    return changed > max(_FEWEST, settings.together * judged)


def _other_gpu(history: MachineHistory, nights: list[int]) -> list[str]:
    """What identifies the GPU and is not what it was when it was last known."""
    found = []
    for what, title in _TITLES.items():
        known = [(night, gpu[what]) for night, gpu in history.gpus.items() if what in gpu]
        found += [
            f"its GPU has another {title} since night {night}: {old} -> {new}"
            for (_, old), (night, new) in pairwise(known)
            if old != new and night in nights
        ]
    return found
