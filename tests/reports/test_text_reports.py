"""Markdown, CSV, and speed-ups of many files."""

import csv
import io
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from gpubench_reports.charts.concept import chart as concept_chart
from gpubench_reports.commands.command_line import main
from gpubench_reports.common.errors import ReportError
from gpubench_reports.comparisons import speedups
from gpubench_reports.comparisons.compare import compare, counted
from gpubench_reports.pages import csv_report, markdown_report, paragraphs
from gpubench_reports.pages.columns import NONE, columns_of
from gpubench_reports.pages.terminal.console import table_of
from gpubench_reports.results.reader import read
from gpubench_reports.rules.verdicts.judge import judge

from .factory import (
    DRAM,
    bandwidth_row,
    coalescing_rows,
    make_document,
    make_row,
    roof,
    roofline_rows,
)


def records(result, everything=False):
    text = csv_report.to_csv(result, judge(result), everything)
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_line_a_row_and_a_column_for_whatever_a_row_has(load):
    rows = [
        bandwidth_row(
            "a/b/stride:2",
            DRAM / 3,
            DRAM,
            rule="unconfirmed",
            counts="exact",
            assuming="no register limit",
            note="x",
            registers=32,
            idle_seconds=0.25,
        ),
        make_row("a/c/dtype:fp32") | {"skipped": True, "skip_reason": "needs,\ncommas"},
    ]
    first, second = records(load(rows), everything=True)
    assert first["stride"] == "2"
    assert first["rule"] == "unconfirmed"
    assert first["assuming"] == "no register limit"
    assert first["registers"] == "32"
    assert first["idle_seconds"] == "0.25"
    assert float(first["useful_bytes_per_second"]) == DRAM / 3
    assert (first["wall"], first["grade"]) == ("bandwidth", "low")
    assert (second["dtype"], second["stride"]) == ("fp32", "")
    assert (second["status"], second["reason"]) == ("skipped", "needs,\ufffdcommas")
    assert second["seconds"] == ""


def test_csv_holds_what_rows_are_judged_by_unless_all_is_asked_for(load, write, capsys):
    rows = [bandwidth_row("a/b/stride:2", DRAM / 3, DRAM, registers=32, lost_fraction=0.25)]
    (row,) = records(load(rows))
    assert not {"stride", "registers", "lost_fraction", "useful_bytes_per_second"} & set(row)
    assert (row["headline"], float(row["value"])) == ("useful_bytes_per_second", DRAM / 3)
    assert (row["bound"], row["wall"], row["grade"]) == (
        "the host",
        "communication / overhead",
        "low",
    )
    path = str(write(make_document(rows)))
    assert main(["csv", path]) == 0
    few = capsys.readouterr().out.splitlines()[0].split(",")
    assert main(["csv", "--all", path]) == 0
    every = capsys.readouterr().out.splitlines()[0].split(",")
    assert len(few) < 25 < len(every)
    assert set(few) <= set(every)


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_a_spreadsheet_runs_nothing(load, evil):
    (row,) = records(load([make_row("a/b", label=evil)]))
    assert row["label"] == f"'{evil}"


@given(st.text(max_size=60))
@example("|a|`b`<script>\n# x [y](z) @everyone ~~s~~ **b**")
def test_markdown_text_means_itself(text):
    escaped = markdown_report.escape(text)
    assert "\n" not in escaped
    assert "<" not in escaped
    assert not re.search(r"(?<!\\)[|`*_\[\]#~]", escaped.replace("\\\\", ""))


def test_markdown_leads_with_what_is_not_as_expected(load, write, capsys):
    slow = bandwidth_row("coalescing/strided_read/stride:3", DRAM / 6, DRAM / 3, throttled=1)
    text = markdown_report.to_markdown(*_judged(load([*coalescing_rows(), slow])))
    assert "`coalescing/strided_read/stride:3` is **low**: 50 % of the predicted limit" in text
    assert "the clock was throttled" in text
    assert "**not healthy**" in text
    fine = markdown_report.to_markdown(*_judged(load(coalescing_rows())))
    assert "All 12 graded rows are as expected." in fine
    assert "All 12 graded rows are as expected, at 97 % of the predicted limit." in fine
    modelled = markdown_report.to_markdown(*_judged(load(device_kind="model")))
    assert "**MODELLED, not measured**" in modelled


def test_a_concepts_paragraph_names_each_yardstick_and_what_has_none(load):
    rows = [
        bandwidth_row("a/b/n:1", DRAM, DRAM),
        bandwidth_row("a/b/n:2", DRAM * 0.95, DRAM),
        make_row("a/c", roof_fraction=0.8),
        make_row("a/d", label="latency"),
    ]
    result, verdicts = _judged(load(rows))
    kernels, rest = paragraphs.sentences_of(result.records, verdicts)
    assert len(kernels) == 1  # of the two that a figure compares
    assert rest[1:] == [
        "All 3 graded rows are as expected: 2 at 95-100 % of the predicted limit and 1 at 80 % "
        "of its dram roof.",
        "1 row not graded: no law at that size or shape, and nothing else to compare it with "
        "(bound by latency).",
    ]


def test_no_kernel_is_dropped_and_a_paragraph_counts_those_it_leaves_out(load):
    rows = [
        bandwidth_row(f"a/kernel{k}/n:{n}", DRAM / n, DRAM / n) for k in range(6) for n in (1, 2)
    ]
    result, verdicts = _judged(load(rows))
    kernels, _ = paragraphs.sentences_of(result.records, verdicts)
    assert [text.partition(":")[0] for text in kernels] == [f"kernel{k}" for k in range(6)]
    assert "And 2 more sweeps." in paragraphs.of_concept(result.records, verdicts)


def _judged(result):
    return result, judge(result)


def test_markdown_compares(load, write, capsys):
    run = write(make_document([bandwidth_row("a/b/n:1", 2e12)]), "run.json")
    before = write(make_document([bandwidth_row("a/b/n:1", 1e12)]), "before.json")
    assert main(["markdown", str(run), str(before)]) == 0
    text = capsys.readouterr().out
    assert "### Against before.json" in text
    assert "| a | 1 | 2.000 |" in text
    assert "| `a/b/n:1` | 2.000 | faster |" in text


# --- speed-ups ------------------------------------------------------------------------------------


def test_means_are_geometric_with_the_rows_deviations(load, write):
    rates = {1: 2.0, 2: 8.0}
    a = read(write(make_document([bandwidth_row(f"a/b/n:{n}", 1e12) for n in rates]), "a.json"))
    b = read(
        write(
            make_document([bandwidth_row(f"a/b/n:{n}", 1e12 * r) for n, r in rates.items()]),
            "b.json",
        )
    )
    rows = compare(a, b).rows
    (line,) = speedups.means(rows, "concept").to_dict("records")
    assert line["ratio"] == pytest.approx(4.0)  # the root of 2 x 8
    one = math.log(rows["high"].iloc[0] / rows["ratio"].iloc[0])
    assert math.log(line["high"] / line["ratio"]) == pytest.approx(one / math.sqrt(2), rel=1e-6)
    rows.loc[0, "low"] = math.nan
    assert math.isnan(speedups.means(rows, "concept")["low"].iloc[0])


def test_many_files_are_named_by_what_tells_them_apart(write):
    files = [read(write(make_document(driver_version=v), f"{v}.json")) for v in ("570", "580")]
    table = speedups.table(files)
    assert list(table.lines) == ["driver 580"]
    devices = [read(write(make_document(device_title=t), f"{t}.json")) for t in ("A100", "H100")]
    assert speedups.labels([f.context for f in devices]) == ["A100", "H100"]
    same = [read(write(make_document(), f"{n}.json")) for n in (1, 2)]
    assert len(set(speedups.labels([f.context for f in same]))) == 2


def test_rows_that_not_all_files_have_are_told(write):
    both, failing = make_row("a/b/n:1"), make_row("a/b/n:2")
    failed = {k: v for k, v in failing.items() if not k.endswith("_time")} | {
        "error_occurred": True,
        "error_message": "wrong sum",
    }
    files = [
        read(write(make_document([both, row], driver_version=v), f"{v}.json"))
        for v, row in (("570", failing), ("580", failed), ("590", failing))
    ]
    (said,) = [line for line in speedups.table(files).warnings if "without" in line]
    assert said == "driver 580: without 1 row that it or driver 570 has no time for"


def test_of_roof_compares_how_well_devices_are_used(write):
    big = bandwidth_row("a/b/n:1", 4e12, roof_fraction=0.8)
    small = bandwidth_row("a/b/n:1", 1e12, roof_fraction=0.9)
    files = [read(write(make_document([row]), f"{n}.json")) for n, row in enumerate((big, small))]
    (line,) = next(iter(speedups.table(files, of_roof=True).lines.values())).to_dict("records")
    assert line["ratio"] == pytest.approx(0.9 / 0.8)
    bare = read(write(make_document([make_row("a/b/n:1")]), "bare.json"))
    with pytest.raises(ReportError, match="fraction of its roof"):
        speedups.table([files[0], bare], of_roof=True)


def test_changed_rows_without_an_interval_are_told(write):
    rows = [[make_row("a/b/n:1", s), bandwidth_row("a/c/n:1", 1e12 / s)] for s in (1, 1.1)]
    a, b = (read(write(make_document(some), f"{n}.json")) for n, some in enumerate(rows))
    words, _ = counted(compare(a, b))
    assert words == "2 slower, 0 faster (1 without an interval), worst -9.1 %"


def test_a_comparison_of_many_files_says_which_device_was_not_healthy(write, capsys):
    def file(version, throttled):
        rows = [bandwidth_row(f"a/b/n:{n}", 4e12, throttled=throttled) for n in range(12)]
        return str(write(make_document(rows, driver_version=version), f"{version}.json"))

    assert main(["compare", file("570", 0.0), file("580", 1.0), file("590", 0.0)]) == 0
    said = capsys.readouterr().out
    assert "driver 570  healthy (" in said
    assert "driver 580  NOT HEALTHY (" in said


def test_of_roof_counts_the_rows_that_it_leaves_out(write):
    rows = [
        bandwidth_row("a/b/dtype:fp32", 4e12, roof_fraction=0.8),
        bandwidth_row("a/b/dtype:fp64", 4e12, roof_fraction=0.4),
        make_row("a/c/dtype:fp32"),
        make_row("a/d/dtype:fp32"),
    ]
    files = [
        read(write(make_document(rows, driver_version=v), f"{v}.json")) for v in ("570", "580")
    ]
    (said,) = speedups.table(files, of_roof=True).warnings
    assert said == (
        "driver 580: without 2 rows whose fraction of a roof it or driver 570 does not know"
    )
    of_types = speedups.table(files, "dtype", of_roof=True).warnings
    assert of_types[0] == "driver 570: without 2 rows whose fraction of a roof it does not know"


def test_types_are_compared_within_a_file(write):
    rows = [
        bandwidth_row(f"a/b/n:{n}/dtype:{dtype}", rate)
        for n in (1, 2)
        for dtype, rate in (("fp32", 1e12), ("fp16", 2e12))
    ]
    result = read(write(make_document(rows)))
    (line,) = next(iter(speedups.table([result], by="dtype").lines.values())).to_dict("records")
    assert (line["dtype"], line["rows"]) == ("fp16 over fp32", 2)
    assert line["ratio"] == pytest.approx(2.0)
    with pytest.raises(ReportError, match="dtype"):
        speedups.table([read(write(make_document(), "none.json"))], by="dtype")


def test_compare_takes_many_files(write, capsys, tmp_path):
    paths = [
        write(make_document(roofline_rows(), device_title=t, device=t), f"{t}.json")
        for t in ("A", "B", "C")
    ]
    assert main(["compare", *map(str, paths), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "the devices differ: A, C" in out
    assert (tmp_path / "out" / "speedups.png").exists()
    assert main(["compare", *map(str, paths)]) == 0
    assert list(tmp_path.glob("*-charts")) == []


def test_whole_numbers_are_counted_in_operations_everywhere(load, write, capsys):
    rows = [
        make_row(
            f"compute_peak/fma/dtype:{dtype}",
            flops_per_second=1e13,
            label=dtype,
            law=1e13,
            law_ratio=1.0,
        )
        for dtype in ("fp32", "int32")
    ]
    roofs = [roof(name, "compute", 1e13) for name in ("fp32", "int32")]
    path = str(write(make_document(rows, roofs=roofs)))
    for command in ("table", "markdown"):
        assert main([command, path]) == 0
        text = capsys.readouterr().out
        for line in text.splitlines():
            if ("TFLOP/s" in line or "TOP/s" in line) and not line.startswith("-"):
                assert ("int32" in line) == ("TOP/s" in line), line
        assert "TOP/s" in text
    result = load(rows, roofs=roofs)
    figure = concept_chart.build("compute_peak", result.rows, result.context)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["fp32", "int32 [OP/s]"]


def test_energy_is_shown_where_a_row_has_it_and_only_there(load):
    energy = {
        "joules": 0.35,
        "joules_per_flop": 0.7e-12,
        "joules_per_byte": 95e-12,
        "joules_per_token": 0.0021,
        "average_power_w": 512.3,
    }
    names = ("a/b/dtype:fp32", "a/b/dtype:int32")
    rows = [make_row(name, flops_per_second=1e12, **energy) for name in names]
    result = load([*rows, make_row("a/b/dtype:fp64")])
    texts = {c.title: c.texts for c in columns_of(result.ok, judge(result), result.context)}
    assert texts["energy"] == ["350 mJ", "350 mJ", NONE]
    assert texts["energy per FLOP"] == ["0.70 pJ/FLOP", "0.70 pJ/OP", NONE]
    assert texts["energy per byte"] == ["95.0 pJ/B", "95.0 pJ/B", NONE]
    assert texts["energy per token"] == ["2.10 mJ/token", "2.10 mJ/token", NONE]
    assert texts["power"] == ["512 W", "512 W", NONE]
    without = load([make_row("a/b/dtype:fp64")])
    titles = [c.title for c in columns_of(without.ok, judge(without), without.context)]
    assert not [title for title in titles if "energy" in title or title == "power"]


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_a_narrow_terminal_shows_every_name_title_and_unit(load, width):
    result = load(coalescing_rows() + roofline_rows())
    columns = [
        (column.title, column.texts)
        for column in columns_of(result.ok, judge(result), result.context)
        if column.parts is None
    ]
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None)
    console.print(table_of(columns))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = "".join(stream.getvalue().split())
    used = [column for column in columns if any(cell != NONE for cell in column[1])]
    for number, (title, cells) in enumerate(used):
        assert number == 0 or "".join(title.split()) in shown
        # Between 40 and 200 a name may stand in several lines of a table.
        for cell in cells if number > 0 or not 40 < width < 200 else ():
            assert cell == NONE or "".join(cell.split()) in shown
