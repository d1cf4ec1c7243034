"""Grading many: one student's files are one student's affair, whatever is in them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from checker import handed_in, show

from .command import cli, started
from .conftest import LABS

LAB = LABS[0]
ANSWERS = LAB.folder / "reference" / "answers.toml"


def submit(folder: Path, solution: Path = LAB.reference) -> Path:
    folder.mkdir(parents=True)
    (folder / "solution.cuh").write_text(solution.read_text())
    (folder / "answers.toml").write_text(ANSWERS.read_text())
    return folder


def replaced(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data) and None


def linked(name: str, to: Path) -> Callable[[Path], None]:
    def link(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(to)

    return link


def hard_linked(folder: Path) -> None:
    (folder / "solution.cuh").unlink()
    try:
        os.link(LAB.reference, folder / "solution.cuh")
    except OSError:  # on another file system
        (folder / "solution.cuh").symlink_to(LAB.reference)


def pipe(folder: Path) -> None:
    (folder / "solution.cuh").unlink()
    os.mkfifo(folder / "solution.cuh")


def folder_instead(folder: Path) -> None:
    (folder / "solution.cuh").unlink()
    (folder / "solution.cuh").mkdir()


def renamed(name: str, to: str) -> Callable[[Path], None]:
    def rename(folder: Path) -> None:
        (folder / to).parent.mkdir(exist_ok=True)
        (folder / name).rename(folder / to)

    return rename


def one_deeper(folder: Path) -> None:
    for name in ("solution.cuh", "answers.toml"):
        renamed(name, f"lab\n01/{name}")(folder)


# Files that nobody should hand in, and words of what is said of them.
BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "answers_not_toml": (replaced("answers.toml", b"bytes = = 3\n"), "predictions"),
    "answers_not_utf8": (replaced("answers.toml", b"\xff\xfe = 1\n"), "predictions"),
    "answers_nested": (replaced("answers.toml", b"x = " + b"[" * 100_000), "predictions"),
    "answers_5000_digits": (replaced("answers.toml", b"x = " + b"9" * 5000), "predictions"),
    "answers_400_digits": (
        replaced("answers.toml", b"chunked_sectors = " + b"9" * 400 + b"\n"),
        "predictions",
    ),
    "answers_linked": (linked("answers.toml", ANSWERS), "predictions"),
    "answers_endless": (linked("answers.toml", Path("/dev/zero")), "predictions"),
    "solution_linked": (linked("solution.cuh", LAB.reference), "a link"),
    "solution_hard_linked": (hard_linked, "solution.cuh: "),
    "solution_pipe": (pipe, "not a file"),
    "solution_folder": (folder_instead, "not a file"),
    "solution_missing": (lambda folder: (folder / "solution.cuh").unlink(), "No such file"),
    "solution_not_utf8": (replaced("solution.cuh", b"// \xff\n"), "UTF-8"),
    "solution_large": (replaced("solution.cuh", b"// \n" * (1 << 20)), "larger than"),
    "solution_with_zeros": (replaced("solution.cuh", b"int a\0b;\n"), "control character"),
    "=cmd|calc!A1": (replaced("solution.cuh", b"asm"), "inline assembly"),
}
# Not where they are looked for: no points, and not 0 points.
MISPLACED: dict[str, tuple[Callable[[Path], None], str]] = {
    "one_deeper": (
        one_deeper,
        r"no solution.cuh and no answers.toml in the folder itself, but lab\n01/solution.cuh",
    ),
    "solution_in_capitals": (
        renamed("solution.cuh", "Solution.cuh"),
        "no solution.cuh in the folder itself, but Solution.cuh",
    ),
    "answers_in_capitals": (
        renamed("answers.toml", "Answers.TOML"),
        "no answers.toml in the folder itself, but Answers.TOML",
    ),
    "answers_missing": (
        lambda folder: (folder / "answers.toml").unlink(),
        "no answers.toml in the folder",
    ),
}
# As a browser, an editor or a student call a solution.
MISPLACED |= {
    f"called_{name}": (
        renamed("solution.cuh", name),
        f"no solution.cuh in the folder itself, but {name}",
    )
    for name in ("solution.cu", "solution (1).cuh", "solution.cuh.txt", "lab05.cuh", "code.zip")
}
NOTHING = "no solution.cuh and no answers.toml in the folder"


def test_a_class_is_graded_to_its_end(prepared: object, tmp_path: Path) -> None:
    submit(tmp_path / "class" / "ada")
    submit(tmp_path / "class" / "zoe", LAB.folder / "solution.cuh")
    for name, (spoil, _) in (BROKEN | MISPLACED).items():
        spoil(submit(tmp_path / "class" / name))
    (tmp_path / "class" / "mallory").symlink_to(LAB.folder / "reference")
    for name in (b"b\xffb", b"b\xfeb"):  # as archives of Windows leave them
        (tmp_path / "class" / os.fsdecode(name)).mkdir()
    (tmp_path / "class" / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "class" / "pipe")
    (tmp_path / "class" / "a\nb").mkdir()
    (tmp_path / "class" / "bob.zip").touch()
    (tmp_path / "class" / ".DS_Store").touch()
    done = cli("class", LAB.number, str(tmp_path / "class"), "--csv", str(tmp_path / "class.csv"))
    assert done.returncode == 1, done.stderr  # not all of them have a grade
    assert done.stderr == ""
    rows = {row["student"]: row for row in csv.DictReader((tmp_path / "class.csv").open())}
    assert len(rows) == len(BROKEN) + len(MISPLACED) + 9
    assert rows["ada"]["total"] == "100.0"
    assert rows["zoe"]["total"] == "20.0"
    ungraded = {name: words for name, (_, words) in MISPLACED.items()}
    ungraded |= {"a\\nb": NOTHING, "b\\xffb": NOTHING, "b\\xfeb": NOTHING}
    ungraded |= {"loop": "a link, and no folder of its own"}
    ungraded |= {"mallory": ungraded["loop"], "pipe": "not a folder", "bob.zip": "not a folder"}
    for name, words in ungraded.items():
        assert (rows[name]["total"], rows[name]["remark"]) == ("", f"not graded: {words}"), name
    assert len(done.stdout.splitlines()) == len(rows)
    assert f"a\\nb: not graded: {NOTHING}" in done.stdout.splitlines()
    for name, (_, words) in BROKEN.items():
        row = rows.get(name) or rows[f"'{name}"]
        assert float(row["total"]) in ((0.0,) if words == "predictions" else (20.0,)), name
        if words != "predictions":
            assert words in row["remark"], name
    assert not [row for row in rows if row.startswith("=")]


def test_gradescope_gets_its_file(prepared: object, tmp_path: Path) -> None:
    submission = submit(tmp_path / "ada", LAB.folder / "solution.cuh")
    results = tmp_path / "out" / "results.json"
    words = ("--submission", str(submission), "--results", str(results), "--seed=7")
    done = cli("gradescope", LAB.number, *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(results.read_text())
    assert told["score"] == 20
    assert "seed 7, run in " in told["output"]


@pytest.mark.parametrize("name", ["answers_in_capitals", "answers_missing", "called_lab05.cuh"])
def test_gradescopes_student_hears_what_is_not_where_it_is_looked_for(
    name: str, tmp_path: Path
) -> None:
    spoil, why = MISPLACED[name]
    spoil(submit(tmp_path / "ada"))
    results = tmp_path / "results.json"
    words = ("--submission", str(tmp_path / "ada"), "--results", str(results))
    done = cli("gradescope", LAB.number, *words)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(results.read_text())
    assert (told["score"], told["output"]) == (0, f"not graded: {why}")
    assert told["visibility"] == "visible"


@pytest.mark.parametrize(
    ("name", "why"), [("nowhere", "No such file or directory"), ("file", "not a folder")]
)
def test_gradescope_scores_no_folder_that_is_not_there(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    results = tmp_path / "results.json"
    words = ("--submission", str(tmp_path / name), "--results", str(results))
    done = cli("gradescope", LAB.number, *words)
    assert (done.returncode, done.stderr) == (2, f"scripts/lab: {tmp_path / name}: {why}\n")
    assert not results.exists()


def test_answers_alone_are_graded_but_not_beside_code(tmp_path: Path) -> None:
    folder = submit(tmp_path / "ada")
    (folder / "solution.cuh").unlink()
    (folder / ".solution.cuh.swp").touch()
    (folder / "notes.txt").touch()
    assert handed_in.why_ungraded(folder) == ""
    (folder / "deeper").mkdir()
    (folder / "deeper" / "kernel.cpp").touch()
    why = "no solution.cuh in the folder itself, but deeper/kernel.cpp"
    assert handed_in.why_ungraded(folder) == why


def test_folders_in_folders_have_an_end(tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "kernel.cpp").touch()
    nested = "/".join("d" * 1500)  # deeper than Python calls itself
    subprocess.run(["mkdir", "-p", nested], cwd=folder / "deep", check=True)
    lacks = "no solution.cuh and no answers.toml in the folder"
    try:
        assert handed_in.misplaced(folder) == f"{lacks} itself, but deep/er/kernel.cpp"
    finally:
        subprocess.run(["rm", "-r", folder / "deep"], check=True)
    for name in range(handed_in.MOST_LOOKED_AT):
        (folder / "a" / str(name)).mkdir(parents=True)
    assert handed_in.misplaced(folder) == lacks


def class_of(tmp_path: Path, *names: str) -> Path:
    """Submissions that take no time, since they do not get as far as the compiler."""
    for name in names:
        replaced("solution.cuh", b"asm")(submit(tmp_path / "class" / name))
    return tmp_path / "class"


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--seed=-5", "must be a number >= 0"),
        (
            "--seed=18446744073709551616",
            "must be at most 18446744073709551615",
        ),
        ("--device=model:b200-sxm", 'unknown device "b200-sxm": known are '),
        ("--device=model:", "takes auto, cuda, cuda:N or model:NAME"),
        ("--device=model:h200-sxm ", 'unknown device "h200-sxm "'),
    ],
)
def test_nobody_loses_points_by_what_the_instructor_mistyped(
    prepared: object, tmp_path: Path, flag: str, words: str
) -> None:
    folder = tmp_path / "class"
    submission = submit(folder / "ada")
    for command in (
        ("class", LAB.number, str(folder), "--csv", str(tmp_path / "table.csv")),
        (
            "gradescope",
            LAB.number,
            "--submission",
            str(submission),
            "--results",
            str(tmp_path / "r"),
        ),
        ("check", LAB.number, "--solution", str(submission / "solution.cuh")),
    ):
        done = cli(*command, flag)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["class"]


@pytest.mark.parametrize("place", ["class/ada/answers.toml", "class/table.csv", "class/new.csv"])
def test_a_table_does_not_lie_among_what_is_graded(tmp_path: Path, place: str) -> None:
    folder, table = class_of(tmp_path, "ada"), tmp_path / place
    (folder / "table.csv").write_text("mine")
    before = table.read_bytes() if table.exists() else None
    done = cli("class", LAB.number, str(folder), "--csv", str(table))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"scripts/lab: {table}: is in {folder}, whose files are read: choose another place\n"
    )
    assert (table.read_bytes() if table.exists() else None) == before


@pytest.mark.parametrize("command", ["class", "gradescope"])
def test_no_lab_is_replaced_by_grades(tmp_path: Path, command: str) -> None:
    folder = class_of(tmp_path, "ada")
    target = LAB.folder / "expected.json"
    link, before = tmp_path / "link", target.read_bytes()
    link.symlink_to(target)
    words = [str(folder), "--csv", str(link)]
    if command == "gradescope":
        words = ["--submission", str(folder / "ada"), "--results", str(link)]
    done = cli(command, LAB.number, *words)
    assert (done.returncode, target.read_bytes()) == (2, before)
    assert "whose files are read" in done.stderr


def test_results_do_not_replace_a_submission(tmp_path: Path) -> None:
    ada = class_of(tmp_path, "ada") / "ada"
    target = ada / "answers.toml"
    before = target.read_bytes()
    done = cli("gradescope", LAB.number, "--submission", str(ada), "--results", str(target))
    assert (done.returncode, target.read_bytes()) == (2, before)


def test_a_class_that_is_killed_keeps_the_table_before_and_what_was_graded(
    prepared: object, tmp_path: Path
) -> None:
    folder, table = class_of(tmp_path, "ada"), tmp_path / "table.csv"
    submit(folder / "zoe")  # which takes seconds
    table.write_text("of yesterday\n")
    with started("class", LAB.number, str(folder), "--csv", str(table)) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("ada: ")
        child.kill()
    assert table.read_text() == "of yesterday\n"
    (part,) = tmp_path.glob("table.csv.part-*")
    assert [row["student"] for row in csv.DictReader(part.open())] == ["ada"]


@pytest.mark.parametrize(("asks", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_class_that_is_asked_to_stop_leaves_nothing_but_the_part(
    asks: signal.Signals, code: int, prepared: object, tmp_path: Path
) -> None:
    folder, room = class_of(tmp_path, "ada"), tmp_path / "room"
    submit(folder / "zoe")
    room.mkdir()
    words = ("class", LAB.number, str(folder), "--csv", str(tmp_path / "table.csv"))
    with started(*words, TMPDIR=str(room)) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("ada: ")
        while not list(room.glob("gpubench-lab-*")):
            time.sleep(0.02)
        child.send_signal(asks)
        errors = child.communicate(timeout=60)[1]
    assert child.returncode == code
    assert list(room.iterdir()) == []
    (part,) = tmp_path.glob("table.csv.part-*")
    assert errors == f"scripts/lab: stopped; what was written is in {part}\n"


def test_a_finished_table_replaces_the_one_before(tmp_path: Path) -> None:
    folder, table = class_of(tmp_path, "ada"), tmp_path / "table.csv"
    table.write_text("of yesterday\n" * 100)
    table.chmod(0o600)
    assert cli("class", LAB.number, str(folder), "--csv", str(table)).returncode == 0
    assert [row["student"] for row in csv.DictReader(table.open())] == ["ada"]
    assert table.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "table.csv"]


def test_a_table_may_go_to_standard_output(tmp_path: Path) -> None:
    done = cli("class", LAB.number, str(class_of(tmp_path, "ada")), "--csv", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("student,lab,total")
    assert done.stdout.splitlines()[-1].startswith("ada: ")


@pytest.mark.parametrize("reader", ["full", "gone"])
def test_a_class_is_graded_to_its_end_though_nobody_listens(tmp_path: Path, reader: str) -> None:
    folder, table = class_of(tmp_path, "ada", "bob", "zoe"), tmp_path / "table.csv"
    if reader == "full":
        out = os.open("/dev/full", os.O_WRONLY)
    else:
        end, out = os.pipe()
        os.close(end)
    with started("class", LAB.number, str(folder), "--csv", str(table), out=out) as child:
        os.close(out)
        errors = child.communicate(timeout=60)[1]
    assert child.returncode == 2
    why = "No space left on device" if reader == "full" else "Broken pipe"
    assert errors == f"scripts/lab: standard output: {why}\n"
    assert [row["student"] for row in csv.DictReader(table.open())] == ["ada", "bob", "zoe"]


@pytest.mark.parametrize("text", ["a\x1b[31mred", "\r=1+1", "a\x00b"])
def test_nothing_of_a_submission_reaches_a_terminal_as_it_is(text: str, tmp_path: Path) -> None:
    submission = submit(tmp_path / "ada", LAB.folder / "solution.cuh")
    (submission / "answers.toml").write_text(f"{json.dumps(text)} = 1\n")
    done = cli(
        "check",
        LAB.number,
        f"--solution={submission / 'solution.cuh'}",
        f"--answers={submission / 'answers.toml'}",
    )
    assert "no question is called" in done.stdout
    assert not [c for c in done.stdout if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize("sign", "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b")
def test_no_cell_of_a_table_is_a_formula(sign: str) -> None:
    assert show.cell(f"{sign}1+1") == f"'{sign}1+1"
