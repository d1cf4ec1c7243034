"""The page: what it says, and how large it becomes."""

import json
import re
from pathlib import Path

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.pages.html.chart_sections import concepts as concept_sections
from gpubench_reports.pages.html.facts import gather
from gpubench_reports.pages.html.order import FIRST, in_order
from gpubench_reports.results.reader import read

from .factory import (
    DRAM,
    bandwidth_row,
    make_document,
    make_large_document,
    make_row,
    roof,
    roofline_rows,
)
from .html_pages import Elements, few_rows, low_rows, one_line, page_of, raw_of, summary_of


def test_the_first_screen_answers_the_four_questions(load):
    text = one_line(Elements(summary_of(load, [*low_rows(), *roofline_rows()])).text)
    assert "Device NVIDIA H200 SXM 141 GB" in text or "NVIDIA H200 SXM 141 GB" in text
    assert "✗ not healthy" in text
    assert "the clock was throttled in 1 row" in text
    assert "4.40 TB/s" in text  # the DRAM roof of the run
    assert "92 %" in text  # of 4.8 TB/s
    summary = text[text.index("Worst rows") : text.index("Its roofs")]
    assert "One row is not as expected; worst row per concept" in summary
    assert (
        "coalescing/strided_read/stride:3 at 733 GB/s: low, 50 % of the predicted limit" in summary
    )
    assert "bound by dram (bandwidth); expected: 81.9-122 %" in summary
    assert "Why: the clock was throttled while the row ran" in summary
    assert "Would not help: " in summary


def entries_of_the_worst(page: str) -> list[str]:
    """What the summary says of each of the worst rows."""
    part = page[page.index('<ol class="worst">') :]
    return [
        one_line(Elements(entry).text) for entry in part[: part.index("</ol>")].split("<li>")[1:]
    ]


def test_the_three_worst_are_of_three_concepts_and_each_says_why(load):
    rows = [
        bandwidth_row(f"{concept}/k/n:{n}", DRAM * share, DRAM, throttled=1)
        for n, (concept, share) in enumerate(
            [("a", 0.3), ("a", 0.4), ("b", 0.5), ("c", 0.6), ("d", 0.7)]
        )
    ]
    found = entries_of_the_worst(summary_of(load, rows))
    assert [entry.partition(" at ")[0] for entry in found] == ["a/k/n:0", "b/k/n:2", "c/k/n:3"]
    assert all("Why: the clock was throttled" in entry for entry in found)
    failed = make_row("e/k/n:1") | {"error_occurred": True, "error_message": "element 3 is 4"}
    found = entries_of_the_worst(summary_of(load, [*rows, failed]))
    assert found[0] == "e/k/n:1failed: element 3 is 4"
    assert len(found) == 3


def test_the_worst_of_a_model_are_no_faults_of_a_device(load):
    rows = [bandwidth_row("a/k/n:1", DRAM / 2, DRAM)]
    text = one_line(Elements(summary_of(load, rows, device_kind="model")).text)
    assert "Where the model is farthest from what is expected" in text
    assert "Nothing was measured, so none of this is a fault of the device" in text
    assert "Worst rows" not in text
    assert "fault of the device" not in summary_of(load, rows)


def test_the_worst_say_what_they_are_sorted_by_and_what_binds_them(load):
    rows = [
        bandwidth_row(f"{concept}/k/n:1", DRAM * share, DRAM, law_tolerance=tolerance)
        for concept, share, tolerance in (("a", 0.9, 0.5), ("b", 0.95, 0.06))
    ]
    page = summary_of(load, rows)
    assert "worst row per concept, with the share of its tolerance that it uses" in one_line(
        Elements(page).text
    )
    b, a = entries_of_the_worst(page)  # b is nearer to its law, and to its edge
    assert b.startswith("b/k")
    assert "expected: 94-106 % (83 % of its tolerance)" in b
    assert "(15 % of its tolerance)" in a
    assert "What binds it: most of the time goes to moving bytes" in a
    page = summary_of(load, [bandwidth_row("a/k/n:1", DRAM / 2, DRAM)])
    assert "worst row per concept:" in one_line(Elements(page).text)
    assert "(6.6 times its tolerance)" in entries_of_the_worst(page)[0]


def test_a_roof_that_no_row_is_made_for_has_its_best_row(load):
    rows = [
        make_row(f"gemm/k/n:{n}", flops_per_second=4e14 * n, label="tensor", roof="tensor_bf16")
        for n in (1, 2)
    ]
    roofs = [roof(name, "compute", 9.9e14, "data_sheet") for name in ("tensor_bf16", "tensor_fp8")]
    page = summary_of(load, rows, roofs=roofs)
    text = one_line(Elements(page).text)
    assert "800 TFLOP/s *990 TFLOP/s data sheet81 %" in text
    assert 'title="by gemm/k/n:2"' in page
    assert "tensor fp8no row990 TFLOP/s data sheet" in text
    assert "* No row measures this roof. The value is the best row that it limits." in text


def test_rows_without_a_grade_are_explained(load):
    text = one_line(Elements(summary_of(load, [make_row("a/b/n:1", label="latency")])).text)
    assert (
        "Not graded: no law at their size, and nothing else to compare them with (bound by latency)"
        in text
    )
    graded = summary_of(load, [make_row("a/b/n:1", roof_fraction=0.9)])
    assert "Not graded" not in graded


def test_how_to_read_a_kind_of_chart_is_said_once(pages):
    page = pages["cuda"]
    assert page.count("One panel per kernel, along its longest axis") == 1
    assert page.count('href="#read-concept"') == 2  # the charts of two concepts point at it
    assert 'id="read-concept"' in page
    assert page.count("no GPU has confirmed it") == 0
    assert pages["model"].count("no GPU has confirmed it") == 1


def test_all_kernels_of_a_concept_are_told(load):
    rows = [
        bandwidth_row(f"a/kernel{k}/n:{n}", DRAM / n, DRAM / n) for k in range(6) for n in (1, 2)
    ]
    result = load(rows)
    (section,) = concept_sections(gather(result), [])
    text = Elements(section).text
    assert all(f"kernel{k}: useful bandwidth from" in text for k in range(6))


def test_a_modelled_file_says_so_and_claims_no_health(pages):
    text = one_line(Elements(pages["model"]).text)
    assert "MODELLED, not measured" in text
    assert "nothing was measured" in text
    assert "✓ healthy" not in text


def test_every_chart_has_words_and_a_name_for_screen_readers(pages):
    page = pages["cuda"]
    parsed = Elements(page)
    figures = len(parsed.of("figure"))
    assert figures == 4  # a roofline, the roofs, two concepts: the modelled run is no different
    assert len(parsed.of("figcaption")) == figures
    charts = parsed.of("svg") + parsed.of("img")
    assert len(charts) == figures
    identities = {a["id"] for _, a in parsed.elements if a.get("id")}
    for chart in parsed.of("svg"):
        assert chart["role"] in ("img", "group")
        for name in chart["aria-labelledby"].split():
            assert name in identities
    assert len(re.findall(r'\bid="', page)) == len(identities), "an id stands twice"


def test_without_intensity_the_page_says_that_there_is_no_roofline(load):
    page = page_of(load, [make_row("a/b/n:1"), make_row("a/b/n:2")])
    assert "No roofline: no row has both" in page
    assert 'id="chart-roofline"' not in page


def test_rows_that_are_not_there_are_told(load):
    skipped = {"skipped": True, "skip_reason": "needs 64 GiB"}
    failed = {"error_occurred": True, "error_message": "element 3 is 4"}
    rows = [make_row("a/b/n:1"), make_row("a/c/n:1") | skipped, make_row("a/d/n:1") | failed]
    text = one_line(Elements(page_of(load, rows)).text)
    assert "1 measured, 1 skipped, 1 failed" in text
    assert "failed: element 3 is 4" in text
    assert "needs 64 GiB" in text


def test_a_comparison_says_how_the_files_are_unlike(load, write):
    run = load(few_rows()[:2])
    other = read(write(make_document(few_rows()[:2], device_kind="model"), "model.json"))
    text = one_line(Elements(build_page(run, [other]).decode()).text)
    assert "Against model.json" in text
    assert "A is modelled and B is measured" in text


def test_a_comparison_draws_what_changed_and_counts_the_rest(load, write):
    def rows(slow):
        return [bandwidth_row(f"a/b/n:{n}", DRAM / (1.5 if n in slow else 1)) for n in range(4)]

    run = load(rows([]))
    other = read(write(make_document(rows([1, 3])), "other.json"))
    page = build_page(run, [other]).decode()
    assert "2 changes are drawn; of 4 rows in both, 2 show none." in page
    assert 'id="chart-compare-1"' in page
    same = read(write(make_document(rows([])), "same.json"))
    page = build_page(run, [same]).decode()
    assert "None of the 4 rows that are in both shows a difference." in page
    assert 'id="chart-compare-1"' not in page


def test_devices_that_differ_share_a_roofline(load, write):
    rows = roofline_rows()[:2]
    other = read(write(make_document(rows, device="b200", device_title="NVIDIA B200"), "b.json"))
    assert 'id="chart-devices"' in build_page(load(rows), [other]).decode()
    same = read(write(make_document(rows[:1]), "same.json"))
    run = load(rows[:1])
    assert 'id="chart-devices"' not in build_page(run, [same]).decode()


def test_a_point_is_a_link_to_its_row_and_says_its_figure(pages):
    parsed = Elements(pages["cuda"])
    rows = {row["id"] for row in parsed.of("tr") if row.get("id")}
    points = [a for a in parsed.of("a") if a.get("class") == "point"]
    assert {"#" + row for row in rows} == {point["href"] for point in points}
    assert "<title>coalescing/strided_read/stride:2: 2.13 TB/s</title>" in pages["cuda"]
    # The Tab key reaches one point per chart, arrows the others from there.
    figures = (part.partition("</figure>")[0] for part in pages["cuda"].split("<figure"))
    charts = [figure for figure in figures if 'class="point"' in figure]
    assert charts
    for chart in charts:
        assert chart.count('class="point"') == chart.count('tabindex="-1"') + 1


def test_what_a_point_tells_comes_with_the_row(pages):
    tips = {entry["raw"]["name"]: dict(entry["tip"]) for entry in raw_of(pages["cuda"])}
    tip = tips["coalescing/strided_read/stride:2"]
    assert tip["value"] == "2.13 TB/s"
    assert tip["95 % interval"] == "2.11 TB/s … 2.16 TB/s"
    assert tip["law"] == "2.20 TB/s"
    assert tip["model"] == "2.03 TB/s"
    assert tip["roof"] == "48.5 % of dram"
    (without, *_) = (tip for name, tip in tips.items() if name.startswith("roofline/"))
    assert "value" in without
    assert "law" not in without


def test_equal_input_gives_equal_bytes(pages, tmp_path):
    path = tmp_path / "cuda.json"
    path.write_text(json.dumps(make_document(few_rows())))
    assert build_page(read(path)).decode() == pages["cuda"]


def test_too_many_rows_for_the_table_are_counted_and_the_odd_ones_kept(load):
    # Each is a concept of its own kind of argument: too many for one chart as well.
    rows = [bandwidth_row(f"a/b/n:{n}", DRAM, DRAM) for n in range(2100)]
    rows[2050] = bandwidth_row("a/b/n:2050", DRAM / 4, DRAM)
    page = page_of(load, rows)
    assert "The file has 900 more rows than this table" in page
    assert "No chart: it has too many rows" in page
    assert "a/b/n:2050" in [entry["raw"]["name"] for entry in raw_of(page)]


def test_html_goes_beside_the_file_and_is_named(write, capsys):
    path = write(make_document(few_rows()[:1]))
    assert main(["html", str(path)]) == 0
    assert capsys.readouterr().out == f"{path.with_suffix('.html')}\n"
    assert path.with_suffix(".html").read_bytes().startswith(b"<!DOCTYPE html>")


def test_results_that_differ_in_the_suffix_alone_have_pages_of_their_own(write, capsys):
    path = write(make_document(few_rows()[:1]))
    other = path.with_suffix("")
    other.write_bytes(path.read_bytes())
    pages = []
    for one in (path, other):
        assert main(["html", str(one)]) == 0
        pages.append(Path(capsys.readouterr().out.strip()))
    assert pages == [path.with_suffix(".html"), path.with_name(f"{path.stem}-report.html")]


def test_what_others_recorded_decides_the_grade(write, capsys, tmp_path):
    rows = [bandwidth_row("stream/read/n:1", 3.0e12)]
    recorded = tmp_path / "results" / "h200"
    recorded.mkdir(parents=True)
    for name, rate in (("a", 4.1e12), ("b", 4.3e12)):
        document = make_document([bandwidth_row("stream/read/n:1", rate)])
        (recorded / f"{name}.json").write_text(json.dumps(document))
    (recorded / "broken.json").write_text("{")
    path = write(make_document(rows))
    assert main(["markdown", str(path), "--against", str(tmp_path / "results")]) == 0
    assert "is **low**: 71.4 % of what was recorded for it (2 runs)" in capsys.readouterr().out


def test_a_page_grows_by_concepts_and_not_by_rows(load):
    """What a page costs is its figures, so many a concept, each of a bounded size; what a figure
    costs is test_quick_ticks.py's matter."""
    rows = [
        row
        | {
            "concept": f"{row['concept']}{copy}",
            "name": f"{copy}/{row['name']}",
            "run_name": f"{copy}/{row['name']}",
        }
        for copy in range(2)
        for row in make_large_document(90)["benchmarks"]
    ]
    page = build_page(load(rows))
    concepts = len({row["concept"] for row in rows})
    assert page.count(b"<figure") == concepts + 2  # the roofline and the roofs
    assert len(page) < 2_000_000


def test_a_concept_is_explained_in_the_words_of_its_page(load):
    page = page_of(load, [make_row("coalescing/strided_read/stride:1"), make_row("mine/k/n:1")])
    section = page[page.index('id="concept-coalescing"') : page.index('id="concept-mine"')]
    text = one_line(Elements(section).text)
    assert "How to read itEvery panel shows useful bandwidth; the dashed line" in text
    assert "What it cannot showThe DRAM fetch size" in text
    assert "![" not in text
    assert "](" not in text
    assert "Every panel shows useful" not in page[page.index('id="concept-mine"') :]


def test_a_section_opens_with_its_question_and_what_was_found(load):
    rows = [
        bandwidth_row(f"a/{k}/n:{n}", DRAM / n, DRAM / n) for k in ("one", "two") for n in (1, 4)
    ]
    result = load(rows, concepts={"a": "what does a cost?"})
    (section,) = concept_sections(gather(result), [])
    text = Elements(section).text
    assert text.startswith(
        "aWhat does a cost?one: useful bandwidth from 1.10 TB/s (n 4) to 4.40 TB/s"
    )
    assert "a factor of 4. All 4 graded rows are as expected." in text
    slow = [*rows[:3], bandwidth_row("a/two/n:4", DRAM / 16, DRAM / 4)]
    (section,) = concept_sections(gather(load(slow)), [])
    assert "1 of 4 rows not as expected; worst: two/n:4." in Elements(section).text


def test_the_concepts_that_people_come_for_are_first_and_communication_is_last(load):
    def order(*names, **context):
        return list(in_order(load([make_row(name) for name in names], **context)))

    alone = ("topology/copy/from:0/to:0", "atomics/k/n:1", "host_sync/k/n:1", "coalescing/k/n:1")
    assert order(*alone) == ["coalescing", "host_sync", "atomics", "topology"]
    pair = "topology/copy/from:0/to:1"
    assert order(pair, *alone[1:]) == ["coalescing", "host_sync", "topology", "atomics"]
    modelled = order(pair, *alone[1:], device_kind="model")
    assert modelled == ["coalescing", "host_sync", "atomics", "topology"]
    assert len(FIRST) == 7
