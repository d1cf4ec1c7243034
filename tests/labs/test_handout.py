"""What instructors hand out: no answers in it, and all that it needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from checker import course, handout
from checker.course import Lab

from .conftest import LABS, ROOT


def test_the_handout_has_no_answers_and_knows_right_from_wrong(tmp_path: Path) -> None:
    to = tmp_path / "handout"
    handout.export_students(ROOT, to)
    assert not list(to.glob("labs/*/reference"))
    lab = course.find(to, "01")
    assert not lab.reference.exists()
    sealed = course.seals(lab)
    prediction = lab.predictions[0]
    assert course.is_right(lab, prediction, 32, sealed[prediction.id])
    assert not course.is_right(lab, prediction, 16, sealed[prediction.id])
    text = "".join(path.read_text() for path in to.glob("labs/01-*/*") if path.is_file())
    assert "threadIdx.x;\n  for" not in text


def test_the_handout_has_no_times_by_wall(tmp_path: Path) -> None:
    """From which whoever looks has the diagnosis that lab 13 asks for."""
    handout.export_students(ROOT, tmp_path / "handout")
    for path in (tmp_path / "handout").glob("labs/*/expected.json"):
        rows = [row for rows in json.loads(path.read_text()).values() for row in rows.values()]
        assert rows
        assert {key for row in rows for key in row} <= {"seconds", "start_seconds"}, path.parent


def entries(text: str) -> list[str]:
    """Each entry of a numbered list as one line, without its number."""
    parts = re.split(r"(?m)^\d+\. ", text)[1:]
    return [" ".join(part.split()) for part in parts]


def points_of(entry: str) -> list[str]:
    return re.findall(r"\*\((\d+ points?)\)\*", entry)


def words_of(text: str) -> list[str]:
    return re.findall(r"[A-Za-z']{2,}", text)


def phrases(rubric: str) -> list[str]:
    """What would give a rubric away: each six words in a row, or all of a shorter one."""
    words = words_of(re.sub(r"\*\(\d+ points?\)\*", "", rubric))
    return [f" {' '.join(words[i : i + 6])} " for i in range(max(1, len(words) - 5))]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)
def test_a_rubric_has_every_written_question_and_its_points(lab: Lab) -> None:
    page = (lab.folder / "README.md").read_text()
    questions = entries(page.split("## Explain\n")[1])
    rubrics = entries((lab.folder / "reference" / "rubric.md").read_text())
    assert len(questions) >= 3
    assert all(points_of(question) for question in questions)
    assert [points_of(one) for one in questions] == [points_of(one) for one in rubrics]


def test_the_handout_has_no_rubrics(tmp_path: Path) -> None:
    handout.export_students(ROOT, tmp_path / "handout")
    files = [path for path in (tmp_path / "handout" / "labs").rglob("*") if path.is_file()]
    # A page as it must not be: points, and behind them what they are for.
    assert [path for path in files if re.search(r"\(\d+\s+points?[:;,]", path.read_text())] == []
    texts = {path: f" {' '.join(words_of(path.read_text()))} " for path in files}
    for lab in LABS:
        for rubric in entries((lab.folder / "reference" / "rubric.md").read_text()):
            for phrase in phrases(rubric):
                assert [path for path, text in texts.items() if phrase in text] == [], phrase


def test_the_autograder_has_what_gradescope_calls(tmp_path: Path) -> None:
    bundle = tmp_path / "grader.zip"
    handout.export_autograder(ROOT, LABS[0], bundle)
    with zipfile.ZipFile(bundle) as files:
        names = set(files.namelist())
        for script in ("setup.sh", "run_autograder"):
            assert files.getinfo(script).external_attr >> 16 & 0o111
            assert f" {LABS[0].number}" in files.read(script).decode()
    assert {f"labs/{LABS[0].folder.name}/reference/solution.cuh", "scripts/lab"} <= names
    assert not [n for n in names if n.startswith("labs/02") and "reference" in n]


def test_an_installed_course_says_what_exports_are_made_from(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "packaging" / "course", tmp_path / "course")
    shutil.copytree(ROOT / "labs", tmp_path / "course" / "labs")
    for what in (["--students", "new"], ["--autograder", "01", "new.zip"]):
        done = subprocess.run(
            [sys.executable, "-m", "checker", "export", *what],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path / "course" / "labs"), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "from a checkout of gpubench, not from an installed course" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["course"]


def test_the_handout_is_what_git_has(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(root)], check=True)
    lab = root / "labs/02-bank-conflicts"
    shutil.copytree(lab / "reference", lab / "reference.bak")
    shutil.copytree(lab, root / "labs/02-bank-conflicts-anna")
    (root / os.fsdecode(b"labs/\xff")).write_text("x")
    asked = (lab / "solution.cuh").read_text()
    shutil.copy(lab / "reference/solution.cuh", lab / "solution.cuh")
    to = tmp_path / "handout"
    handout.export_students(root, to)
    assert (to / "labs/02-bank-conflicts/solution.cuh").read_text() == asked
    labs = [path.name for path in (to / "labs").iterdir()]
    assert "02-bank-conflicts-anna" not in labs
    assert all(name.isascii() for name in labs)
    assert not list(to.glob("labs/*/reference*"))
    bundle = tmp_path / "grader.zip"
    handout.export_autograder(root, course.find(root, "01"), bundle)
    with zipfile.ZipFile(bundle) as files:
        name = "labs/02-bank-conflicts/solution.cuh"
        assert files.read(name).decode() == asked
        assert not [n for n in files.namelist() if "reference.bak" in n or "anna" in n]
        assert files.getinfo("scripts/lab").external_attr >> 16 & 0o111
    with pytest.raises(course.LabError, match="not at HEAD"):
        handout.export_autograder(root, course.find(root, "02-bank-conflicts-anna"), bundle)
    others = handout.left_out(root)
    assert "labs/02-bank-conflicts/solution.cuh" in others
    assert "labs/02-bank-conflicts/reference.bak/solution.cuh" in others
