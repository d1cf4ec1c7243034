"""The page's table of errors against published measurements is what the command prints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.comparisons.points import read_points
from gpubench_reports.comparisons.published import BEGIN, END

from .conftest import BUILD, ROOT

POINTS = ROOT / "tests" / "data" / "published"
UNSEEN = ROOT / "tests" / "data" / "unseen"

PAGES = {POINTS: ROOT / "docs/model-accuracy.md", UNSEEN: ROOT / "docs/model-unseen.md"}
ONE_IN = 24  # of the files, every day: all points take minutes


def block_of(page: Path) -> str:
    return page.read_text().partition(BEGIN)[2].partition(END)[0].removeprefix("\n")


@pytest.mark.release
@pytest.mark.parametrize("points", PAGES, ids=lambda points: points.name)
def test_the_page_shows_what_the_command_prints(points: Path, tmp_path, capsys) -> None:
    copy = tmp_path / "page.md"
    copy.write_text(PAGES[points].read_text())
    program = ["--program", str(BUILD / "gpubench")]
    assert main(["published", str(points), *program, "--readme", str(copy)]) == 0
    printed = capsys.readouterr().out
    assert set(printed.splitlines()) <= set(copy.read_text().splitlines())
    page = PAGES[points].relative_to(ROOT)
    assert copy.read_text() == PAGES[points].read_text(), (
        f"run: gpubench-report published {points.relative_to(ROOT)} --readme {page}"
    )


@pytest.mark.parametrize("points", PAGES, ids=lambda points: points.name)
def test_some_of_its_lines_are_still_what_the_model_says(points: Path, tmp_path, capsys) -> None:
    some = sorted(points.glob("*.json"))[::ONE_IN]
    for file in some:
        shutil.copy(file, tmp_path)
    assert main(["published", str(tmp_path), "--program", str(BUILD / "gpubench")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "](http" in line]
    assert len(lines) >= len(some)
    stale = set(lines) - set(block_of(PAGES[points]).splitlines())
    assert not stale, "the page says otherwise:\n" + "\n".join(sorted(stale))


def test_no_point_called_predicted_is_where_its_device_file_has_its_bandwidth_from() -> None:
    compared = 0
    for point in read_points(POINTS):
        if not point.row or point.fitted:
            continue
        device = json.loads((ROOT / f"harness/devices/{point.device}.json").read_text())
        for name, figure in device["figures"].items():
            if not name.startswith("dram_") or figure["from"] in ("data_sheet", "assumed"):
                continue
            source = device["sources"].get(figure["source"], figure["source"])
            compared += 1
            assert point.source not in source, f"{name} of {point.device} is fitted to {point.what}"
    assert compared > 0
