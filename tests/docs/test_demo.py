"""The demo picture is the README's first session, whose output test_commands.py checks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .pages import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def draw(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "scripts/demo.py", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_picture_is_what_the_command_draws(tmp_path: Path) -> None:
    done = draw(str(tmp_path / "demo.svg"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "demo.svg").read_text() == (ROOT / "docs/demo.svg").read_text()


def test_it_shows_every_line_of_the_session_within_the_picture() -> None:
    picture = ElementTree.parse(ROOT / "docs/demo.svg").getroot()
    shown = ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]
    block = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[0]
    assert shown == [line for line in block.splitlines() if line]
    assert "MODELLED" in shown[1]
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    for text in picture.iter(f"{SVG}text"):
        assert float(text.attrib["x"]) + float(text.attrib["textLength"]) < width
        assert float(text.attrib["y"]) < height
    assert not re.search(r"(href|src|url\()", (ROOT / "docs/demo.svg").read_text())


@pytest.mark.parametrize(
    ("name", "problem"),
    [("x.png", "takes the name of an .svg file"), ("/no/x.svg", "No such file or directory")],
)
def test_a_wrong_name_is_one_line(name: str, problem: str) -> None:
    done = draw(name)
    assert done.returncode == 2
    assert done.stderr == f"scripts/demo.py: {name}: {problem}\n"
