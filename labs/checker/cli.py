"""The command line of scripts/lab."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import expected, handout, notebook, progress, show
from .build import prepare
from .course import Lab, LabError, all_labs, find, read_toml
from .device import CUDA, MODEL, device_for, is_model
from .grade import fresh_seed, grade
from .handed_in import entries, misplaced, require_folder, submission_in, why_ungraded
from .outputs import require_output, written
from .report import Report, Submission, one_line, plain
from .running import require_taken
from .timing import known_times

ROOT = Path(__file__).resolve().parents[2]
MOST_SEED = 2**64 - 1  # which the programs keep it in


def seed_of(options: argparse.Namespace) -> int:
    return options.seed if options.seed is not None else fresh_seed()


def device_of(lab: Lab, options: argparse.Namespace) -> str:
    """Where to grade. LabError, also where the programs do not take what was asked for."""
    device = device_for(lab, options.build, options.device)
    if (options.seed or 0) > MOST_SEED:
        raise LabError(f"--seed={options.seed}: must be at most {MOST_SEED}")
    known_times(lab)  # an instructor hears of it before a class is graded, not in each row
    if options.device != "auto" or options.seed is not None:
        prepare(lab, options.build)
        judge = options.build / f"lab-{lab.number}-judge"
        require_taken(judge, device if is_model(device) else MODEL, seed_of(options))
    return device


def check(lab: Lab, options: argparse.Namespace) -> Report:
    """Grades, and tells what is worth and what is next."""
    submission = Submission(
        options.solution or lab.folder / "solution.cuh",
        options.answers or lab.folder / "answers.toml",
    )
    if not os.path.lexists(submission.solution):
        raise LabError(f"{submission.solution}: No such file or directory")
    report = grade(
        lab,
        submission,
        options.build,
        device=device_of(lab, options),
        seed=seed_of(options),
        predict_first=not options.no_predictions,
    )
    told, known = progress.noted(report, submission.solution, options.build)
    print(show.as_text(report, known and not options.predictions))
    for said in (progress.first_answers(report, told), progress.next_step(ROOT, report, told)):
        if said:
            print(f"\n{said}")
    sys.stdout.flush()
    return report


def watch(lab: Lab, options: argparse.Namespace) -> int:
    """Checks again whenever one of the two files was saved, until Ctrl-C; an editor that saves may
    take a file away for a moment."""
    files = [
        options.solution or lab.folder / "solution.cuh",
        options.answers or lab.folder / "answers.toml",
    ]
    seen: list[float] = []
    try:
        while True:
            now = [path.stat().st_mtime if path.exists() else 0.0 for path in files]
            if now != seen:
                is_first, seen = not seen, now
                print("\n" + "=" * 80)
                try:
                    check(lab, options)
                except LabError as error:
                    if is_first:
                        raise
                    print(f"scripts/lab: {error}", file=sys.stderr)
            time.sleep(0.3)
    except KeyboardInterrupt:
        return 0


def command_list(options: argparse.Namespace) -> int:
    labs = all_labs(ROOT)
    width = max((len(lab.title) for lab in labs), default=0)
    for lab in labs:
        effort = f"{lab.difficulty:<6}  {lab.minutes:3d} min"
        print(f"{lab.number}  {lab.title:<{width}}  {effort}  {lab.question}")
    print("\nscripts/lab 01 checks labs/01-*/solution.cuh; its page is labs/01-*/README.md.")
    print("Times are estimates, for somebody who writes CUDA for the first time.")
    return 0


def command_check(options: argparse.Namespace) -> int:
    lab = find(ROOT, options.lab)
    if options.setup:
        prepare(lab, options.build)
        if not is_model(device_for(lab, options.build, options.device)):
            prepare(lab, options.build, CUDA)
        return 0
    if options.watch:
        return watch(lab, options)
    return 0 if check(lab, options).points > 100 - 1e-9 else 1


def command_hint(options: argparse.Namespace) -> int:
    lab = find(ROOT, options.lab)
    hints = read_toml(lab.folder / "hints.toml").get("hints", [])
    if not 1 <= options.step <= len(hints):
        raise LabError(f"lab {lab.number} has hints 1 to {len(hints)}, not {options.step}")
    print(f"Hint {options.step} of {len(hints)}: {hints[options.step - 1]}")
    return 0


def command_notebook(options: argparse.Namespace) -> int:
    lab = find(ROOT, options.lab)
    out = options.out or lab.folder / "notebook.ipynb"
    if out.exists():
        raise LabError(f"{out}: is there already; it may hold your work")
    print(f"{out}: {notebook.write(ROOT, lab, out)} cells")
    return 0


def command_export(options: argparse.Namespace) -> int:
    handout.require_checkout(ROOT)
    if others := handout.left_out(ROOT):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        text = plain(f"not handed out as it is here, but as at HEAD: {others[0]}{more}")
        print(f"scripts/lab: {text}", file=sys.stderr)
    if options.students:
        count = handout.export_students(ROOT, options.students)
        print(f"{options.students}: {count} files, without references and answers")
    else:
        number, target = options.autograder
        count = handout.export_autograder(ROOT, find(ROOT, number), Path(target))
        print(f"{target}: {count} files, for Gradescope")
    return 0


def command_gradescope(options: argparse.Namespace) -> int:
    lab, folder = find(ROOT, options.lab), options.submission
    require_folder(folder)
    require_output(options.results, folder, ROOT / "labs")
    device = device_of(lab, options)
    if why := misplaced(folder):
        results = show.as_gradescope_ungraded(why)
    else:
        submission = submission_in(folder)
        report = grade(lab, submission, options.build, device=device, seed=seed_of(options))
        results = show.as_gradescope(report)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with written(options.results) as file:
        file.write(json.dumps(results, indent=2) + "\n")
    return 0


def command_class(options: argparse.Namespace) -> int:
    lab = find(ROOT, options.lab)
    require_output(options.csv, options.folder, ROOT / "labs")
    device = device_of(lab, options)
    prepare(lab, options.build)
    students = entries(options.folder)
    ungraded = 0
    unheard: OSError | None = None  # whoever listened has gone: the table is made all the same
    with written(options.csv) as file:
        table = csv.DictWriter(file, show.SUMMARY_COLUMNS)
        table.writeheader()
        for folder in students:
            name = os.fsencode(folder.name).decode("utf-8", "backslashreplace")
            row = graded_student(lab, folder, name, device, options)
            ungraded += "total" not in row
            table.writerow(row)
            file.flush()
            worth = show.points(row["total"]) if "total" in row else row["remark"]
            unheard = unheard or print_line(f"{one_line(name)}: {one_line(worth)}")
    if unheard is not None:
        raise unheard
    return 1 if ungraded else 0


def print_line(line: str) -> OSError | None:
    """Prints `line`; returns why that failed, where it did."""
    try:
        print(line, flush=True)
    except OSError as error:
        return error
    return None


def graded_student(
    lab: Lab, folder: Path, name: str, device: str, options: argparse.Namespace
) -> dict[str, Any]:
    """A row of the table. Whatever is wrong with one student's files, the others have theirs."""
    try:
        if why := why_ungraded(folder):
            return show.as_ungraded(name, lab.folder.name, why)
        report = grade(
            lab, submission_in(folder), options.build, device=device, seed=seed_of(options)
        )
    except LabError as error:
        return show.as_ungraded(name, lab.folder.name, str(error))
    except Exception as error:  # the next student is not to suffer from it
        what = f"the checker failed: {type(error).__name__}: {error}"
        return show.as_ungraded(name, lab.folder.name, what)
    return show.as_summary(name, report)


def command_expected(options: argparse.Namespace) -> int:
    for lab in [find(ROOT, options.lab)] if options.lab else all_labs(ROOT):
        expected.write(lab, options.build)
        print(f"labs/{lab.folder.name}: expected.json, README.md")
    return 0


def device_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--device",
        default="auto",
        help=f"auto (this machine's GPU, else {MODEL}), cuda or model:NAME",
    )
    sub.add_argument(
        "--seed", type=int, help="of inputs and shapes, to repeat a check; else a new one"
    )


def check_arguments(sub: argparse.ArgumentParser) -> None:
    device_arguments(sub)
    sub.add_argument("--watch", action="store_true", help="again whenever a file is saved")
    sub.add_argument("--solution", type=Path, help="instead of the lab's solution.cuh")
    sub.add_argument("--answers", type=Path, help="instead of the lab's answers.toml")
    sub.add_argument(
        "--predictions", action="store_true", help="show what was said of them before, too"
    )
    sub.add_argument("--no-predictions", action="store_true", help="run without them: no points")
    sub.add_argument("--setup", action="store_true", help=argparse.SUPPRESS)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="scripts/lab",
        description="Labs: predict, write, check, measure, explain. On the model device, and where "
        "there is a GPU on that as well.",
    )
    top.add_argument(
        "--build",
        type=lambda words: Path(words).absolute(),
        default=ROOT / "build",
        help=argparse.SUPPRESS,
    )
    # What scripts/lab asks before it builds: is there something wrong with these words?
    top.add_argument("--refuse-only", action="store_true", help=argparse.SUPPRESS)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(
        name: str, run: Callable[[argparse.Namespace], int], text: str
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    add("list", command_list, "List the labs; also without any command.")
    sub = add("check", command_check, "Check a lab: 'scripts/lab 02' is short for it.")
    sub.add_argument("lab", help="its number or name: 05 or reduction")
    check_arguments(sub)
    sub = add("hint", command_hint, "A hint; there are three per lab, each says more.")
    sub.add_argument("lab")
    sub.add_argument("step", type=int, nargs="?", default=1)
    sub = add("notebook", command_notebook, "Write a lab as a Jupyter notebook.")
    sub.add_argument("lab")
    sub.add_argument(
        "--out", type=Path, metavar="FILE.ipynb", help="default: notebook.ipynb in the lab's folder"
    )
    sub = add("export", command_export, "For instructors: the handout or an autograder.")
    sub.epilog = "Both are made from the files at HEAD of a checkout, not from an installed course."
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument("--students", type=Path, metavar="DIR")
    which.add_argument("--autograder", nargs=2, metavar=("LAB", "FILE.zip"))
    sub = add("gradescope", command_gradescope, "Grade one submission into a results.json.")
    sub.add_argument("lab")
    sub.add_argument("--submission", type=Path, required=True, metavar="DIR")
    sub.add_argument("--results", type=Path, required=True, metavar="FILE")
    device_arguments(sub)
    sub = add(
        "class", command_class, "Grade a folder of submissions, one folder per student, into a CSV."
    )
    sub.add_argument("lab")
    sub.add_argument("folder", type=Path)
    sub.add_argument("--csv", type=Path, required=True, metavar="FILE")
    device_arguments(sub)
    sub = add("expected", command_expected, "For instructors: expected.json and the page's table.")
    sub.add_argument("lab", nargs="?")
    return top


COMMANDS = ("list", "check", "hint", "notebook", "export", "gradescope", "class", "expected")


def with_command(words: list[str]) -> list[str]:
    """`scripts/lab` lists, `scripts/lab 02 --watch` checks, `--setup 02` prepares an image."""
    at = 0
    while words[at : at + 1] and words[at] in ("--build", "--refuse-only"):
        at += 2 if words[at] == "--build" else 1
    if len(words) == at:
        return [*words, "list"]
    if words[at] in (*COMMANDS, "-h", "--help"):
        return words
    return [*words[:at], "check", *words[at:]]


def stop(*_: object) -> None:
    """What an autograder or `timeout` asks for: with what is open closed, and nothing left."""
    raise SystemExit(128 + signal.SIGTERM)


def main() -> int:
    signal.signal(signal.SIGTERM, stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not what is closed
            stream.reconfigure(errors="replace")  # a name need not be UTF-8
    options = parser().parse_args(with_command(sys.argv[1:]))
    try:
        if options.refuse_only:
            if getattr(options, "lab", None):
                find(ROOT, options.lab)
            return 0
        code = int(options.run(options))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except LabError as error:
        print(f"scripts/lab: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None:  # standard output: what is left of it must not fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        where = os.fsdecode(error.filename or "standard output")
        print(f"scripts/lab: {where}: {error.strerror}", file=sys.stderr)
        return 2
