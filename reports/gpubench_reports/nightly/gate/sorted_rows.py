"""Which rows of two programs can be compared, which one fails, and of which nothing is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench_reports.nightly.store.process_file import (
    ProcessFile,
    in_some,
    is_failure,
    worst_of,
    worst_problem,
)


@dataclass(frozen=True)
class SortedRows:
    """Every row that a process of A or B has, but for those that A never measured and B does not
    fail: there is nothing to compare such a row with."""

    sound: tuple[dict[str, list[float]], dict[str, list[float]]]  # seconds of A, B; the same rows
    failed: dict[str, str]  # rows that B fails and A does not, and why
    unjudged: dict[str, str]  # rows without sound times of both, and why

    @classmethod
    def of(cls, a: Sequence[ProcessFile], b: Sequence[ProcessFile], least: int) -> "SortedRows":
        """`least`: sound times that a row has to have of each program."""
        sound = _sound(a, least), _sound(b, least)
        failed, unjudged = {}, {}
        for name in dict.fromkeys(
            name for file in (*a, *b) for name in (*file.timings, *file.problems)
        ):
            if all(name in times for times in sound):
                continue
            fails_a, fails_b = _fails(a, name), _fails(b, name)
            if fails_b and not fails_a:
                failed[name] = _why_failed(b, name)
            elif fails_a or any(name in file.timings for file in a):
                unjudged[name] = "; ".join(
                    f"{which} has no sound time: {_why_unsound(files, name)}"
                    for which, files, times in (("A", a, sound[0]), ("B", b, sound[1]))
                    if name not in times
                )
        both = [name for name in sound[0] if name in sound[1]]
        sound_of_both = tuple({name: times[name] for name in both} for times in sound)
        return cls((sound_of_both[0], sound_of_both[1]), failed, unjudged)


def _sound(files: Sequence[ProcessFile], least: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for file in files:
        for name, timing in file.timings.items():
            if not timing.throttled:
                found.setdefault(name, []).append(timing.seconds)
    bad = {name for file in files for name in file.problems}
    return {n: s for n, s in found.items() if len(s) >= least and n not in bad}


def _problems(files: Sequence[ProcessFile], name: str) -> list[str]:
    return [file.problems[name] for file in files if name in file.problems]


def _fails(files: Sequence[ProcessFile], name: str) -> bool:
    return any(is_failure(problem) for problem in _problems(files, name))


def _why_failed(files: Sequence[ProcessFile], name: str) -> str:
    problems = _problems(files, name)
    everywhere = sum(map(is_failure, problems)) == len(files)
    return worst_problem(problems) if everywhere else in_some(problems, len(files))


def _why_unsound(files: Sequence[ProcessFile], name: str) -> str:
    problems = _problems(files, name)
    throttled = sum(1 for file in files if name in file.timings and file.timings[name].throttled)
    if problems:
        worst, count = worst_of(problems)
        verb = "it" if is_failure(worst) else "it was"
        return f"in {count} of {len(files)} processes {verb} {worst}"
    if throttled:
        return f"in {throttled} of {len(files)} processes it ran throttled"
    return f"only {sum(name in file.timings for file in files)} of {len(files)} processes have it"
