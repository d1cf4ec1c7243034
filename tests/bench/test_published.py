"""The page's table of errors against published measurements is what the command prints."""

from __future__ import annotations

import json

from gpubench_reports.commands.command_line import main
from gpubench_reports.comparisons.published import BEGIN, END, read_points

from .conftest import BUILD, ROOT

POINTS = ROOT / "tests" / "data" / "published"


def test_the_page_shows_what_the_command_prints(tmp_path, capsys) -> None:
    page = ROOT / "docs/model-accuracy.md"
    copy = tmp_path / "page.md"
    copy.write_text(page.read_text())
    assert main(["published", str(POINTS), "--program", str(BUILD / "gpubench"),
                 "--readme", str(copy)]) == 0  # fmt: skip
    printed = capsys.readouterr().out
    assert printed in copy.read_text()
    block = page.read_text().partition(BEGIN)[2].partition(END)[0].removeprefix("\n")
    assert block == printed, (
        "run: gpubench-report published tests/data/published --readme docs/model-accuracy.md"
    )


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
