"""Claims as people read them: in the terminal, in Markdown, on the page."""

import json

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.rules.claims import (
    FAILS,
    HOLDS,
    claims,
)

from .factory import DRAM, bandwidth_row, make_document, make_row


def strided(share: float) -> list[dict]:
    """Rows that answer the first claim: reads at stride 4 with this share of stride 1."""
    return [
        bandwidth_row(f"coalescing/{kernel}/stride:{stride}", rate)
        for kernel in ("strided_read", "strided_write")
        for stride, rate in ((1, DRAM), (4, share * DRAM))
    ]


def test_the_table_has_figures_verdicts_and_reasons(write, capsys):
    path = write(make_document(strided(0.25), device_kind="model"))
    assert main(["claims", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "modelled" in lines[0]
    (first,) = [line.split("  ") for line in lines if line.lstrip().startswith("1  ")][:1]
    assert [cell.strip() for cell in first if cell.strip()] == [
        "1",
        claims()[0].says,
        "modelled: holds",
        "reads",
        "25 %",
        "21 % to 29 %",
        "yes",
    ]
    # What was not tested comes last, a line each without its notes.
    others = lines[lines.index("not tested") + 1 :]
    assert len(others) == len(claims()) - 1
    assert others[0].startswith(f"  2  {claims()[1].says}: kernels of any µs: no row of host_sync")
    shown = "".join(lines)
    assert (claims()[0].note in shown, claims()[1].note in shown) == (True, False)


def test_without_a_claim_that_was_tested_there_is_no_table(write, capsys):
    assert main(["claims", str(write(make_document([make_row("a/b")])))]) == 0
    _, title, *others = capsys.readouterr().out.splitlines()
    assert title == "not tested"
    assert len(others) == len(claims())
    # A figure that is only shown is shown nevertheless.
    (ridge,) = [line for line in others if line.startswith("  9  ")]
    assert ridge.endswith("(shown: 182 FLOP/byte this device, by this run)")
    model = write(make_document([make_row("a/b")], device_kind="model"))
    assert main(["claims", str(model)]) == 0
    assert "(shown, modelled: 182 FLOP/byte" in capsys.readouterr().out


def test_several_files_are_judged_each_for_itself(write, capsys):
    paths = [write(make_document(strided(share)), f"{share}.json") for share in (0.25, 0.5)]
    assert main(["claims", "--json", *map(str, paths)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in found] == [str(path) for path in paths]
    first, second = (one["claims"][0] for one in found)
    assert (first["verdict"], first["modelled"]) == (HOLDS, False)
    assert first["cases"][0] == {
        "where": "reads",
        "figure": pytest.approx(0.25),
        "unit": "fraction",
        "least": 0.21,
        "most": 0.29,
        "holds": True,
        "rows": ["coalescing/strided_read/stride:4", "coalescing/strided_read/stride:1"],
    }
    assert second["verdict"] == FAILS
    assert found[0]["claims"][1]["not_tested"] == [
        {"where": "kernels of any µs", "why": "no row of host_sync in the file"}
    ]


def test_markdown_has_a_line_a_claim(write, capsys):
    path = write(make_document(strided(0.5), device_kind="model"))
    assert main(["claims", "--markdown", str(path)]) == 0
    text = capsys.readouterr().out
    assert "MODELLED" in text
    assert (
        f"| 1 | {claims()[0].says} | 50 %: reads<br>50 %: writes | 21 % to 29 % | "
        "**modelled: does not hold** |"
    ) in text
    assert sum(line.startswith("| ") for line in text.splitlines()) == len(claims()) + 1


def test_bad_input_is_one_line(write, tmp_path, capsys):
    assert main(["claims", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit) as left:
        main(["claims", "--json", "--markdown", str(write(make_document()))])
    assert left.value.code == 2


def test_the_page_has_the_claims_where_one_was_tried(load):
    page = build_page(load(strided(0.5))).decode()
    assert 'id="claims"' in page
    table, _, others = page.partition('id="claims"')[2].partition("Not tested:")
    assert claims()[0].says in table
    assert claims()[1].says in others
    assert claims()[1].says not in table
    assert claims()[0].note[:30] in table
    assert claims()[1].note[:30] not in page
    assert "does not hold" in page
    assert 'href="#claims"' in page
    assert 'id="claims"' not in build_page(load([make_row("a/b")])).decode()
