"""Puts a submission to the test, part by part, and says what it is worth and why."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
import secrets
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from . import policy
from .build import CompileError, Look, Program, compile_solution, prepare
from .course import Lab, LabError, is_right, read_toml, seals
from .device import CUDA, MODEL, is_model
from .sandbox import Limits, run

# As CS149 grades: all points up to this ratio to the reference's time, none beyond the other.
FULL_MARKS_RATIO = 1.2
NO_MARKS_RATIO = 10.0


@dataclass
class Part:
    """One part of the grade: points, and what a student should read about it."""

    name: str
    of: float
    points: float = 0.0
    lines: list[str] = field(default_factory=list)


@dataclass
class Report:
    lab: Lab
    device: str
    seed: int
    parts: list[Part] = field(default_factory=list)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)  # that were run, by name

    @property
    def points(self) -> float:
        return sum(part.points for part in self.parts)

    def part(self, name: str) -> Part:
        return next(part for part in self.parts if part.name == name)


@dataclass(frozen=True)
class Submission:
    solution: Path
    answers: Path


def fresh_seed(student: str = "") -> int:
    """Nobody's: new each time. A student's: always the same, so that a grade can be repeated."""
    if not student:
        return secrets.randbelow(1 << 30)
    return int.from_bytes(hashlib.sha256(student.encode()).digest()[:4], "little") >> 2


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
    open_questions = grade_predictions(lab, submission, report.part("predictions"))
    correctness = report.part("correctness")
    if open_questions and predict_first:
        correctness.lines.append(
            "not run: predict first. Every question in answers.toml needs a number, right or wrong "
            "(--no-predictions does without, and without their points)"
        )
        return report
    faults = policy.source_faults(lab, submission.solution)
    if faults:
        correctness.lines += [f"not compiled: {fault}" for fault in faults]
        return report
    model = device if is_model(device) else MODEL
    prepare(lab, build)
    with tempfile.TemporaryDirectory(prefix="gpubench-lab-") as folder:
        here = Path(folder)
        look = partial(policy.look_at, lab)
        program = compiled(lab, build, submission, here, correctness, "", look)
        if program is None:
            return report
        report.rows = grade_correctness(program, here, model, seed, correctness, limits)
        # The model sees what a GPU does not: races, what is out of bounds, what each line costs.
        # The GPU has the last word on results, and on time.
        measured: dict[str, dict[str, Any]] = {}
        if correctness.points == correctness.of and model != device:
            measured = run_on_gpu(lab, build, submission, here, device, seed, correctness, limits)
        if correctness.points < correctness.of:
            return report
        grade_counters(lab, program, here, model, seed, report.rows, report.part("counters"))
        time = report.part("time")
        if measured and lab.reference.exists():
            reference = run_reference(lab, build, here, device, seed, CUDA)
            grade_time(measured, reference, "the reference, measured here", time)
        else:
            known, source = modelled_reference(lab, build, here, model, seed)
            grade_time(report.rows, known, source, time)
    return report


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
        part.lines += [f"not run: {fault}" for fault in error.args]
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
    part.points = 0
    program = compiled(lab, build, submission, folder, part, CUDA, None)
    if program is None:
        return {}
    return grade_correctness(program, folder, device, seed, part, limits)


# --- predictions ----------------------------------------------------------------------------------


def grade_predictions(lab: Lab, submission: Submission, part: Part) -> list[str]:
    """The questions that have no number yet."""
    given = read_toml(submission.answers) if submission.answers.exists() else {}
    sealed = seals(lab)
    unanswered = []
    right = 0
    questions = [prediction.id for prediction in lab.predictions]
    for key in given:
        if key not in questions:
            meant = difflib.get_close_matches(key, questions, 1)
            instead = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(questions)}"
            part.lines.append(f"no question is called {key}: {instead}")
    for prediction in lab.predictions:
        value = given.get(prediction.id)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            unanswered.append(prediction.id)
            part.lines.append(f"open   {prediction.id}: {prediction.question}")
            if value not in (None, "?"):
                part.lines[-1] += f" ({value!r} is no number)"
        elif is_right(lab, prediction, float(value), sealed[prediction.id]):
            right += 1
            part.lines.append(f"right  {prediction.id} = {value}")
        else:
            part.lines.append(f"wrong  {prediction.id} = {value}. Think of this: {prediction.hint}")
    part.points = part.of * right / len(lab.predictions)
    return unanswered


# --- correctness ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    rows: dict[str, dict[str, Any]]  # by name; none if `why`
    why: str = ""
    diagnoses: tuple[str, ...] = ()  # the emulator's: what, where and who


def run_rows(
    program: Program, here: Path, device: str, seed: int, *flags: str, limits: Limits | None = None
) -> Ran:
    modelled = ["--whole_grids"] if is_model(device) else []
    ended = run(
        [
            str(program.path),
            f"--device={device}",
            f"--seed={seed}",
            "--benchmark_format=json",
            *modelled,
            *flags,
        ],
        here,
        limits,
    )
    if ended.why:
        return Ran({}, ended.why)
    mark = "model device: "
    said = ended.stderr.strip().splitlines()
    diagnoses = tuple(line.removeprefix(mark) for line in said if line.startswith(mark))
    try:
        rows = {row["name"]: row for row in json.loads(ended.stdout)["benchmarks"]}
    except (json.JSONDecodeError, KeyError, TypeError):
        return Ran({}, f"broke off: {said[-1] if said else 'it wrote no results'}")
    return Ran(rows, diagnoses=diagnoses)


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
            part.lines += [f"{next(iter(wrong), 'lab')}: {text}" for text in ran.diagnoses[:3]]
            return rows
        if wrong:
            part.lines += alike(wrong)
            return rows
    part.points = part.of
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


# --- counters -------------------------------------------------------------------------------------


def explained(program: Program, here: Path, device: str, seed: int, row: str) -> tuple[dict, str]:
    """What one warp's accesses cost, line by line: as data, and as the text with the warp view."""
    out = here / "explained.json"
    ended = run(
        [
            str(program.path),
            f"--device={device}",
            f"--seed={seed}",
            f"--explain={row}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ],
        here,
        Limits(),
    )
    beside = out.with_suffix(".explain.json")
    if ended.why or not beside.exists():
        raise LabError(f"--explain={row}: {ended.why or ended.stderr.strip()}")
    return json.loads(beside.read_text()), ended.stdout


def view_of(text: str, access: dict[str, Any]) -> list[str]:
    """The part of the explanation's text that is about this access."""
    begin = re.escape(f"  {access['where']}: {access['kind']} of ")
    found = re.search(rf"^{begin}.*?(?=^  \S+:\d+: |^wrote |\Z)", text, re.S | re.M)
    return found[0].rstrip().splitlines()[:24] if found else []


def grade_counters(
    lab: Lab,
    program: Program,
    here: Path,
    device: str,
    seed: int,
    rows: dict[str, dict[str, Any]],
    part: Part,
) -> None:
    faults: list[str] = []
    # A program of the host's has no accesses of its own to look at, and its lab no limits for them.
    looked_at = [name for name in rows if name.startswith("lab/timed") and lab.limits]
    for row in looked_at:
        data, text = explained(program, here, device, seed, row)
        seen: set[str] = set()
        words = 0.0
        for explanation in data["explanations"]:
            for access in explanation["accesses"]:
                faults += costly(lab, access, text, seen)
                if (access["space"], access["kind"]) == ("global", "load"):
                    words += access["requests"] * access["bytes"] / 4
        if words > lab.limits.get("loads_a_lane", math.inf):
            faults.append(
                f"{row}: a lane of the first warp loads {words:g} words of global memory, and "
                f"{lab.limits['loads_a_lane']:g} would do: what has been loaded can be kept"
            )
    for wanted in lab.requires:
        faults += unmet(wanted, rows)
    if faults:
        part.lines += faults
        return
    part.points = part.of
    part.lines.append("no line asks for more than it has to")


def costly(lab: Lab, access: dict[str, Any], text: str, seen: set[str]) -> list[str]:
    """A line of the solution that costs more than the lab allows, with the warp view."""
    unit = "sectors" if access["space"] == "global" else "wavefronts"
    limit = lab.limits.get(f"{access['space']}_excess", math.inf)
    cost, ideal = access[f"{unit}_per_request"], access[f"ideal_{unit}_per_request"]
    this = f"{access['where']} {access['kind']} {access['place']}"
    if this in seen or cost <= limit * ideal:
        return []
    seen.add(this)
    return [
        f"{access['where']}: this {access['kind']} costs {cost:g} {unit} a request, and {ideal:g} "
        "would do:",
        *view_of(text, access),
    ]


def unmet(wanted: dict[str, Any], rows: dict[str, dict[str, Any]]) -> list[str]:
    """A [[require]] of the lab: a counter of some rows, at least or at most so much."""
    faults = []
    for name, row in rows.items():
        if not re.search(wanted["row"], name):
            continue
        value = row.get(wanted["key"])
        low, high = wanted.get("min", -math.inf), wanted.get("max", math.inf)
        if value is None or not low <= value <= high:
            shown = "unknown" if value is None else f"{value:.3g}"
            faults.append(f"{name}: {wanted['key']} is {shown}: {wanted['why']}")
    return faults


# --- time -----------------------------------------------------------------------------------------


def share_of_points(ratio: float) -> float:
    """1 up to FULL_MARKS_RATIO, 0 from NO_MARKS_RATIO on, between them linear in its logarithm."""
    if ratio <= FULL_MARKS_RATIO:
        return 1.0
    if ratio >= NO_MARKS_RATIO:
        return 0.0
    return math.log(NO_MARKS_RATIO / ratio) / math.log(NO_MARKS_RATIO / FULL_MARKS_RATIO)


def seconds_of(row: dict[str, Any]) -> float:
    return (
        float(row["real_time"]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[row["time_unit"]]
    )


def run_reference(
    lab: Lab, build: Path, here: Path, device: str, seed: int, kind: str
) -> dict[str, float]:
    """The reference's times by row. LabError."""
    folder = here / f"reference{kind}"
    folder.mkdir()
    program = compile_solution(lab, build, lab.reference, folder, kind)
    ran = run_rows(program, folder, device, seed, "--benchmark_filter=lab/timed")
    if ran.why:
        raise LabError(f"{lab.reference}: {ran.why}")
    return {name: seconds_of(row) for name, row in ran.rows.items()}


def modelled_reference(
    lab: Lab, build: Path, here: Path, model: str, seed: int
) -> tuple[dict[str, float], str]:
    """The same on a model device, and where it is from; empty, and why, where unknown.

    What the model says of the reference does not change from run to run, so it is kept.
    """
    kept = lab.folder / "expected.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    name = model.removeprefix("model:")
    if name in known:
        return {row: of["seconds"] for row, of in known[name].items()}, "the reference, modelled"
    if not lab.reference.exists():
        return {}, f"nothing to compare with: the handout knows {', '.join(known)}, modelled"
    return run_reference(lab, build, here, model, seed, ""), "the reference, modelled here"


def grade_time(
    rows: dict[str, dict[str, Any]], reference: dict[str, float], source: str, part: Part
) -> None:
    """Points for the rows' times, as ratios to the reference's; `source`: where those are from."""
    if not reference:
        part.lines.append(source)
        return
    shares = []
    for name, seconds in reference.items():
        ratio = seconds_of(rows[name]) / seconds
        shares.append(share_of_points(ratio))
        bound = rows[name].get("label", "")
        part.lines.append(
            f"{name}: {seconds_of(rows[name]) * 1e6:.3g} us, {ratio:.2f} x {source}"
            + (f"; bound by {bound}" if bound else "")
        )
    part.points = part.of * sum(shares) / len(shares)
