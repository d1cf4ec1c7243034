"""Puts a submission to the test, part by part, and says what it is worth and why."""

from __future__ import annotations

import re
import secrets
from functools import partial
from pathlib import Path
from typing import Any

from . import box, policy
from .build import CompileError, Look, Program, compile_solution, prepare
from .counters import grade_counters
from .course import Lab, LabError, MachineError
from .device import CUDA, MODEL, is_model
from .predictions import grade_predictions
from .report import Part, Report, Submission, excerpt
from .running import run_rows, traced
from .sandbox import Limits
from .temporary import temporary_folder
from .timeline import Kinds, seconds_by_wall
from .timing import grade_time, is_faster, modelled_reference, no_marks_ratios, run_reference
from .tools import TooMuchError


def fresh_seed() -> int:
    """One that nobody can know before; the report names it, so that a grade can be repeated. Of
    15 digits, which a spreadsheet keeps."""
    return secrets.randbelow(10**15)


def grade(
    lab: Lab,
    submission: Submission,
    build: Path,
    *,
    device: str,
    seed: int,
    predict_first: bool = True,
    limits: Limits | None = None,
) -> Report:
    """LabError for what is not the submission's fault."""
    report = Report(lab, device, seed)
    report.parts = [Part(name, float(points)) for name, points in lab.points.items()]
    open_questions, slips = grade_predictions(lab, submission, report.part("predictions"))
    report.has_all_answers = not open_questions and not slips
    correctness = report.part("correctness")
    if open_questions and predict_first:
        report.waits_for_predictions = True
        correctness.lines.append(
            "not run: predict first. Every question in answers.toml needs an answer, right or wrong"
        )
        return report
    text, faults = policy.source_faults(lab, submission.solution)
    if faults:
        correctness.lines += excerpt([f"not compiled: {fault}" for fault in faults])
        return report
    model = device if is_model(device) else MODEL
    prepare(lab, build)
    with temporary_folder("gpubench-lab-") as here:
        # As it was read: a submission cannot change behind its reader's back.
        solution = here / "solution.cuh"
        solution.write_text(text, encoding="utf-8")
        submission = Submission(solution, submission.answers)
        look = partial(policy.look_at, lab)
        program = compiled(lab, build, submission, here, correctness, "", look)
        if program is None:
            return report
        report.isolation = isolation(program)
        report.rows = grade_correctness(program, here, model, seed, correctness, limits)
        # The model sees what a GPU does not: races, what is out of bounds, what each line costs.
        # The GPU has the last word on results, and on time.
        measured: dict[str, dict[str, Any]] = {}
        if correctness.is_right and model != device:
            measured = run_on_gpu(lab, build, submission, here, device, seed, correctness, limits)
        if not correctness.is_right:
            return report
        require_rows(lab, report.rows)
        grade_counted(lab, program, here, model, report)
        if measured and lab.reference.exists():
            reference = run_reference(lab, build, here, device, seed, CUDA)
            time, worst = report.part("time"), no_marks_ratios(lab, model)
            grade_time(measured, reference, "the reference, measured here", time, worst)
        else:
            grade_modelled_time(lab, program, build, here, model, report)
    return report


def require_rows(lab: Lab, rows: dict[str, dict[str, Any]]) -> None:
    """LabError where the lab requires something of rows that it does not have."""
    for one in lab.requires:
        if not one.rows_in(rows):
            where = lab.folder / "lab.toml"
            raise LabError(f"{where}: [[require]] row = {one.row.pattern!r}: there is no such row")


def grade_counted(lab: Lab, program: Program, here: Path, model: str, report: Report) -> None:
    part = report.part("counters")
    try:
        grade_counters(lab, program, here, model, report.seed, report.rows, part)
    except MachineError:
        raise
    except LabError as error:
        part.lines.append(str(error))


def grade_modelled_time(
    lab: Lab, program: Program, build: Path, here: Path, model: str, report: Report
) -> None:
    """Points; and where the time of a step goes now, if that is faster than what was handed out."""
    part, worst = report.part("time"), no_marks_ratios(lab, model)
    uncounted = [fault for one in lab.requires if one.timed for fault in one.unmet(report.rows)]
    if uncounted:
        part.lines += ["no points: this time is not that of the work:", *uncounted]
        return
    known, source = modelled_reference(lab, build, here, model, report.seed, report.rows)
    grade_time(report.rows, known, source, part, worst)
    if lab.timeline and known:
        faster = {name for name in worst if is_faster(report.rows[name], known[name], worst[name])}
        if faster:
            part.lines += walls_left(lab.timeline, program, here, model, report.seed, faster)


def walls_left(
    kinds: Kinds, program: Program, here: Path, model: str, seed: int, faster: set[str]
) -> list[str]:
    """Where the time of a step goes now, in the rows that are faster: in the others this would give
    the diagnosis away."""
    try:
        rows = traced(program, here, model, seed)
    except LabError as error:
        return [str(error)]
    lines = []
    for name in sorted(faster & rows.keys()):
        by_wall = seconds_by_wall(rows[name], kinds)
        parts = ", ".join(f"{wall} {1e6 * seconds:.3g}" for wall, seconds in by_wall.items())
        lines.append(f"{name}: {1e6 * sum(by_wall.values()):.3g} us per step, modelled: {parts}")
    return lines


def isolation(program: Program) -> str:
    """What kept the submission from the rest of this machine, in words."""
    kind = box.kind()
    where = "in no sandbox, as this machine has none" if kind == box.NONE else f"in {kind}"
    return where if program.is_guarded else f"{where}, its code unguarded"


def compiled(
    lab: Lab,
    build: Path,
    submission: Submission,
    here: Path,
    part: Part,
    kind: str,
    look: Look | None,
) -> Program | None:
    """The submission's program; none, and why, where it does not compile or must not run."""
    try:
        program = compile_solution(lab, build, submission.solution, here, kind, look)
    except CompileError as error:
        part.lines.append("does not compile:" if not kind else "nvcc does not compile it:")
        part.lines += str(error).splitlines()
        return None
    except policy.ForbiddenError as error:
        part.lines += excerpt([f"not run: {fault}" for fault in error.args])
        return None
    except TooMuchError as error:
        part.lines.append(f"not run: asks too much of the compiler's tools: {error}")
        return None
    part.lines += program.warnings
    return program


def run_on_gpu(
    lab: Lab,
    build: Path,
    submission: Submission,
    here: Path,
    device: str,
    seed: int,
    part: Part,
    limits: Limits | None,
) -> dict[str, dict[str, Any]]:
    """The same solution, compiled by nvcc: its points are gone where it is wrong there."""
    prepare(lab, build, CUDA)
    folder = here / "cuda"
    folder.mkdir()
    part.points, part.is_right = 0, False
    program = compiled(lab, build, submission, folder, part, CUDA, None)
    if program is None:
        return {}
    return grade_correctness(program, folder, device, seed, part, limits)


def grade_correctness(
    program: Program, here: Path, device: str, seed: int, part: Part, limits: Limits | None
) -> dict[str, dict[str, Any]]:
    """The rows that are timed run only if all others are right: they are the largest."""
    rows: dict[str, dict[str, Any]] = {}
    for which in ("-lab/timed", "lab/timed"):
        ran = run_rows(program, here, device, seed, f"--benchmark_filter={which}", limits=limits)
        if ran.why:
            part.lines.append(f"the solution {ran.why}")
            return {}
        rows |= ran.rows
        wrong = {
            name: row.get("error_message", row.get("skip_reason", "no result"))
            for name, row in ran.rows.items()
            if row.get("error_occurred") or row.get("skipped")
        }
        if ran.diagnoses:
            # It ended the launch; that CUDA fails from then on says nothing more.
            first, *others = dict.fromkeys(ran.diagnoses)
            part.lines += [f"{next(iter(wrong), 'lab')}: {first}", *others[:2]]
            return rows
        if wrong:
            part.lines += alike(wrong)
            return rows
    part.points, part.is_right = part.of, True
    part.lines.append(f"right at all {len(rows)} shapes, with the seed {seed}, on {device}")
    return rows


def alike(wrong: dict[str, str]) -> list[str]:
    """What is wrong, by row: once for all rows of which it is the same but for the numbers."""
    kinds: dict[str, list[str]] = {}
    for name, reason in wrong.items():
        kinds.setdefault(re.sub(r"-?\d[\w.+-]*", "0", reason), []).append(name)
    lines = []
    for names in list(kinds.values())[:6]:
        others = [name.removeprefix("lab/") for name in names[1:]]
        if len(others) > 6:
            others[5:] = [f"{len(others) - 5} more"]
        alike_at = f" (alike: {', '.join(others)})" if others else ""
        lines.append(f"{names[0]}: {wrong[names[0]]}{alike_at}")
    return lines
