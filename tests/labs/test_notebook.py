"""A lab as a notebook: what Jupyter needs of it, and its cells, run with the reference in them."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checker import course
from checker.build import prepare

from .command import cli
from .conftest import BUILD, LABS, ROOT

THREE = [
    course.find(ROOT, "01"),
    pytest.param(course.find(ROOT, "02"), marks=pytest.mark.release),
    pytest.param(course.find(ROOT, "05"), marks=pytest.mark.release),
]


def made(lab: course.Lab, folder: Path) -> list[dict]:
    out = folder / "lab.ipynb"
    done = cli("notebook", lab.number, f"--out={out}")
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert document["metadata"]["kernelspec"]["name"] == "python3"
    assert done.stdout == f"{out}: {len(document['cells'])} cells\n"
    return document["cells"]


def text_of(cell: dict) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.folder.name)
def test_a_notebook_has_the_page_the_pictures_and_the_hints(
    lab: course.Lab, tmp_path: Path
) -> None:
    cells = made(lab, tmp_path)
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        wanted = {"id", "cell_type", "metadata", "source"}
        if cell["cell_type"] == "code":
            wanted |= {"execution_count", "outputs"}
            assert cell["outputs"] == []
        assert set(cell) - {"attachments"} == wanted
    # Every picture that a cell shows is in it.
    pictures = [cell for cell in cells if "attachments" in cell]
    shown = {
        name for cell in cells for name in re.findall(r"\(attachment:([^)]*)\)", text_of(cell))
    }
    assert shown == {name for cell in pictures for name in cell["attachments"]} != set()
    for name, data in pictures[0]["attachments"].items():
        png = base64.b64decode(data["image/png"])
        assert png == (ROOT / "reports/gallery" / name).read_bytes()
        assert png.startswith(b"\x89PNG")
    text = "\n".join(map(text_of, cells))
    page = (lab.folder / "README.md").read_text()
    for heading in ("Write", "Check", "Explain"):
        assert page.split(f"## {heading}\n")[1].split("\n## ")[0].strip().split("\n")[0] in text
    for prediction in lab.predictions:
        assert prediction.question in text
    for hint in course.read_toml(lab.folder / "hints.toml")["hints"]:
        assert hint in text
    assert "<!--" not in text


@pytest.mark.parametrize("lab", THREE, ids=lambda lab: lab.folder.name)
def test_its_cells_check_what_stands_in_them(lab: course.Lab, tmp_path: Path) -> None:
    prepare(lab, BUILD)
    cells = [text_of(cell) for cell in made(lab, tmp_path) if cell["cell_type"] == "code"]
    script = tmp_path / "scripts" / "lab"  # of the checkout that the notebook lies in
    script.parent.mkdir()
    words = f'"{sys.executable}" -m checker --build "{BUILD}" "$@" --device=model:h200-sxm'
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "labs"}" exec {words}\n')
    script.chmod(0o755)

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(cells)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return done.stdout

    untouched = run()
    assert "not run: predict first" in untouched
    assert untouched.count("open   ") == len(lab.predictions)
    answers, solution, _ = range(3)
    known = course.read_toml(lab.folder / "reference" / "answers.toml")
    for name, value in known.items():
        cells[answers] = cells[answers].replace(f'"{name}": None', f'"{name}": {value}')
    cells[solution] = f'solution = r"""{lab.reference.read_text()}"""'
    assert re.search(r"^total +100 of 100$", run(), re.M)


def test_a_notebook_that_may_hold_work_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "mine.ipynb"
    out.write_text("mine")
    done = cli("notebook", "01", f"--out={out}")
    assert done.returncode == 2
    assert done.stderr == f"scripts/lab: {out}: is there already; it may hold your work\n"
    assert out.read_text() == "mine"
