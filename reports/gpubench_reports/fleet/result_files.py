"""Reads a folder of result files as a fleet: one file per GPU and run, as scripts/fleet writes."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gpubench_reports.common.dates import order_of
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, is_own_output, require_folder
from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.processes import process_pool, usable_cpus
from gpubench_reports.fleet.table import MATRICES, PROGRAM, Fleet, machine_name, node_and_gpu
from gpubench_reports.nightly.store.process_file import ProcessFile, is_failure, read_process
from gpubench_reports.results.broken_off import broken_off, journal_of
from gpubench_reports.results.checking import parse
from gpubench_reports.results.copies import is_same_run

VERDICT = "fleet_schema"  # the key by which a verdict of this command is known
_MOST = 400  # characters of a log's last line
_AT_ONCE = 64  # files that are worth another process


@dataclass(frozen=True)
class _Unread:
    """A file without results: why."""

    path: Path
    why: str


def read_folder(folder: Path) -> Fleet:
    """The fleet whose result files lie in `folder`, at any depth.

    A GPU's times in a mode are the shortest of its runs in that mode by one program, the latest,
    and files of one UUID are of one GPU. A file that cannot be read costs its GPU only: it becomes
    absent, as does a GPU of which there is only a log (NODE-gpuN.log) or a journal. Raises
    ReportError where there is no result at all, or modelled and measured ones are mixed.
    """
    require_folder(folder, "result files, one per GPU")
    paths = _inside(folder, "*.json")
    read = list(_read_all(folder, paths))
    runs = [one for one in read if isinstance(one, tuple)]
    if not runs:
        unread = [one for one in read if isinstance(one, _Unread)]
        why = f"{unread[0].path.name}: {unread[0].why}" if unread else "no .json file in it"
        raise ReportError(folder, f"holds no result file ({why})")
    kinds = {process.context.device_kind for _, process in runs}
    if len(kinds) > 1:
        raise ReportError(folder, "mixes modelled and measured results; judge them apart")
    by_machine = _by_gpu(runs)
    present = {machine for machine, _ in runs}
    absent = {machine: why for machine, why in _absent(folder, read) if machine not in present}
    return _table(by_machine, tuple(absent.items()), kinds == {"model"})


def _absent(
    folder: Path, read: list[tuple[str, ProcessFile] | _Unread | None]
) -> Iterator[tuple[str, str]]:
    """What began and left no result that can be read, and why; of several reasons, the last tells
    most."""
    for log in _inside(folder, "*.log"):
        if not log.with_suffix(".json").exists():
            yield _machine_of(folder, log), _last_line(log)
    for journal in sorted(folder.rglob("*.json.journal")):
        result = journal.with_suffix("")
        if not result.exists():
            yield _machine_of(folder, result), broken_off(journal) or "its run was interrupted"
    for one in read:
        if isinstance(one, _Unread):
            why = f"its result file cannot be read: {one.why}"
            yield _machine_of(folder, one.path), why


def _by_gpu(runs: list[tuple[str, ProcessFile]]) -> dict[str, list[ProcessFile]]:
    """Each GPU's runs, by the machine's name in the latest of them.

    Files of one UUID are of one GPU, whatever their names say: a copy under another name would be
    its own peer, and a second copy of a run confirms nothing. No two GPUs of the world share one,
    and the host's name tells less: a container's is not its node's.
    """
    of_gpu: dict[tuple[bool, str], list[tuple[str, ProcessFile]]] = {}
    for machine, process in runs:
        uuid = _uuid(process)
        key = (True, uuid) if uuid else (False, machine)
        others = of_gpu.setdefault(key, [])
        if not any(_is_copy(process, other) for _, other in others):
            others.append((machine, process))
    found: dict[str, list[ProcessFile]] = {}
    latest = {
        key: max(own, key=lambda run: order_of(run[1].context.date)) for key, own in of_gpu.items()
    }
    for key in sorted(of_gpu, key=lambda key: order_of(latest[key][1].context.date), reverse=True):
        machine, process = latest[key]
        uuid = _uuid(process)
        if uuid and machine in found:  # it was there before another GPU took its place
            machine = f"{machine} ({uuid})"
        found.setdefault(machine, []).extend(process for _, process in of_gpu[key])
    return found


def _is_copy(one: ProcessFile, other: ProcessFile) -> bool:
    return is_same_run(one.context, _seconds(one), other.context, _seconds(other))


def _seconds(process: ProcessFile) -> dict[str, float]:
    return {name: timing.seconds for name, timing in process.timings.items()}


def _uuid(process: ProcessFile) -> str:
    """Empty where it is not known, or stands for several: a slice's (MIG) is that of the whole."""
    state = process.context.device_state
    return "" if state.get("mig") else str(state.get("uuid", ""))


def _inside(folder: Path, pattern: str) -> list[Path]:
    """The files in `folder`, at any depth, without what this command prints into."""
    return [path for path in sorted(folder.rglob(pattern)) if not is_own_output(path)]


def files_in(folder: Path) -> list[Path]:
    """Every file that `read_folder` would look at."""
    return [*folder.rglob("*.json"), *folder.rglob("*.log")]


def _read_all(
    folder: Path, paths: list[Path]
) -> Iterable[tuple[str, ProcessFile] | _Unread | None]:
    read = partial(_read, folder)
    workers = min(usable_cpus(), 8)
    if len(paths) < _AT_ONCE or workers == 1:
        return map(read, paths)
    with process_pool(workers) as pool:
        return list(pool.map(read, paths, chunksize=16))


def _read(folder: Path, path: Path) -> tuple[str, ProcessFile] | _Unread | None:
    try:
        process = read_process(path)
    except ReportError as error:
        return None if _is_verdict(path) else _Unread(path, error.problem)
    return process.machine or _machine_of(folder, path), process


def _is_verdict(path: Path) -> bool:
    """Whether the file is what this command printed, which may lie beside what it read."""
    try:
        document = parse(path)
    except ReportError:
        return False
    return isinstance(document, dict) and VERDICT in document


def _machine_of(folder: Path, path: Path) -> str:
    """The GPU that a file is about, by its name: NODE-gpuN, as scripts/fleet writes, else all of
    it."""
    name = clean(str(path.relative_to(folder).with_suffix("")))
    node, separator, number = name.rpartition("-gpu")
    gpu = number.partition(".")[0]
    return machine_name(node, gpu) if separator and gpu else name


def _last_line(log: Path) -> str:
    try:
        lines = file_bytes(log).decode("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    said = [line.strip() for line in lines if line.strip()]
    return clean(said[-1])[:_MOST] if said else "it began and left no result"


def _table(
    by_machine: dict[str, list[ProcessFile]], absent: tuple[tuple[str, str], ...], modelled: bool
) -> Fleet:
    names = sorted({name for runs in by_machine.values() for run in runs for name in run.timings})
    column = {name: number for number, name in enumerate(names)}
    alike = _alike(by_machine)
    shape = (len(alike), len(names))
    matrices = {name: np.full(shape, np.nan) for name in MATRICES}
    lines: list[dict[str, Any]] = []
    for number, (machine, runs) in enumerate(alike):
        for run in runs:
            for name, timing in run.timings.items():
                at = number, column[name]
                if timing.seconds < np.nan_to_num(matrices["seconds"][at], nan=math.inf):
                    for field, matrix in matrices.items():
                        value = getattr(timing, field)
                        matrix[at] = math.nan if value is None else float(value)
        lines.append(_line(machine, runs))
    return Fleet(pd.DataFrame(lines), names, **matrices, absent=absent, modelled=modelled)


def _alike(by_machine: dict[str, list[ProcessFile]]) -> list[tuple[str, list[ProcessFile]]]:
    """Each GPU's runs on one kind of device in one mode. A hot run finds in L2 what a cold one
    reads from DRAM: its times are never those of the other."""
    found: dict[tuple[str, str, str], list[ProcessFile]] = {}
    for machine, runs in by_machine.items():
        for run in runs:
            key = (machine, run.environment.device, run.environment.mode)
            found.setdefault(key, []).append(run)
    return [(key[0], _of_latest_program(found[key])) for key in sorted(found)]


def _of_latest_program(runs: list[ProcessFile]) -> list[ProcessFile]:
    """The runs of the latest program: times of different programs do not mix."""
    latest = _program(_latest(runs))
    return [run for run in runs if _program(run) == latest]


def _latest(runs: list[ProcessFile]) -> ProcessFile:
    return max(runs, key=lambda run: order_of(run.context.date))


def _program(run: ProcessFile) -> dict[str, str]:
    """What PROGRAM names."""
    values = (run.context.made_from, run.environment.compiler, run.environment.flags)
    return dict(zip(PROGRAM, values, strict=True))


def _line(machine: str, runs: list[ProcessFile]) -> dict[str, Any]:
    latest = _latest(runs)
    node, gpu = node_and_gpu(machine)
    state = latest.context.device_state
    problems = [problem for run in runs for problem in run.problems.items()]
    failed = {f"{name}: {why.partition(': ')[2]}" for name, why in problems if is_failure(why)}
    cut_off = [_interrupted(run) for run in (latest, *runs)]
    said = {
        "device": latest.environment.device,
        "mode": latest.environment.mode,
        **_program(latest),
        "driver": latest.environment.driver,
        "cuda": latest.environment.cuda,
        "vbios": str(state.get("vbios", "")),
        "uuid": str(state.get("uuid", "")),
    }
    date = latest.context.date[:10]
    place = {"date": date, "machine": machine, "node": node, "gpu": gpu, "rack": "", "slot": ""}
    told = {
        "runs": len(runs),
        "failed": sorted(failed),
        "lost": dict(problems),
        "interrupted": cut_off[0] if all(cut_off) else "",
        "caveats": latest.context.caveats,
        "state": state,
    }
    return {**place, **said, **told}


def _interrupted(run: ProcessFile) -> str:
    """That not all of the run was done, or that a later one was to replace it; empty otherwise."""
    if run.context.interrupted:
        return run.context.reservations[0]
    return "a later run of it was interrupted" if journal_of(run.path).exists() else ""
