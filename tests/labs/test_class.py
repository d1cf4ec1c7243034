"""Grading many: one student's files are one student's affair, whatever is in them."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from checker import show

from .command import cli
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


def test_a_class_is_graded_to_its_end(prepared: object, tmp_path: Path) -> None:
    submit(tmp_path / "class" / "ada")
    submit(tmp_path / "class" / "zoe", LAB.folder / "solution.cuh")
    for name, (spoil, _) in BROKEN.items():
        spoil(submit(tmp_path / "class" / name))
    (tmp_path / "class" / "mallory").symlink_to(LAB.folder / "reference")
    (tmp_path / "class" / os.fsdecode(b"b\xffb")).mkdir()
    done = cli("class", LAB.number, str(tmp_path / "class"), "--csv", str(tmp_path / "class.csv"))
    assert done.returncode == 1, done.stderr  # mallory has no grade
    assert done.stderr == ""
    rows = {row["student"]: row for row in csv.DictReader((tmp_path / "class.csv").open())}
    assert len(rows) == len(BROKEN) + 4
    assert rows["ada"]["total"] == "100.0"
    assert rows["zoe"]["total"] == "20.0"
    assert (rows["mallory"]["total"], rows["mallory"]["remark"][:10]) == ("", "not graded")
    assert float(rows["b\N{REPLACEMENT CHARACTER}b"]["total"]) == 0
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
