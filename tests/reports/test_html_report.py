"""The HTML report: what it says, what it must not let in, and how it behaves in a browser."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpubench_reports.commands.command_line import main
from gpubench_reports.pages import html_report, markup
from gpubench_reports.results.reader import read
from gpubench_reports.rules.verdicts import judge

from .browser import Browser, find_browser
from .factory import (
    DRAM,
    bandwidth_row,
    coalescing_rows,
    make_document,
    make_large_document,
    make_row,
    roof,
    roofline_rows,
)

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&--><svg onload=alert(3)>"


class Elements(HTMLParser):
    """All elements of a page with their attributes, and its text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(load, rows=None, **context) -> str:
    return html_report.build(load(rows or few_rows(), **context)).decode()


def summary_of(load, rows, **context) -> str:
    """The summary alone: no chart is drawn."""
    result = load(rows, **context)
    return html_report._summary(result, judge(result))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page of the few rows, measured and modelled."""
    directory, found = tmp_path_factory.mktemp("pages"), {}
    for kind in ("cuda", "model"):
        path = directory / f"{kind}.json"
        path.write_text(json.dumps(make_document(few_rows(), device_kind=kind)))
        found[kind] = html_report.build(read(path)).decode()
    return found


def few_rows() -> list[dict]:
    """Two concepts, one of them on a roofline."""
    return [*coalescing_rows()[:3], *roofline_rows()[:2]]


def one_line(text: str) -> str:
    return " ".join(text.split())


def low_rows() -> list[dict]:
    """Rows on their laws, and one at half of it that was throttled."""
    slow = bandwidth_row(
        "coalescing/strided_read/stride:3", DRAM / 6, DRAM / 3, throttled=1, sm_clock_hz=1.2e9
    )
    others = [row | {"sm_clock_hz": 1.98e9, "throttled": 0} for row in coalescing_rows()]
    return [*others, slow]


# --- what it says ---------------------------------------------------------------------------------


def test_the_first_screen_answers_the_four_questions(load):
    text = one_line(Elements(summary_of(load, [*low_rows(), *roofline_rows()])).text)
    assert "Device NVIDIA H200 SXM 141 GB" in text or "NVIDIA H200 SXM 141 GB" in text
    assert "✗ not well" in text
    assert "the clock was throttled in 1 row" in text
    assert "4.40 TB/s" in text  # the DRAM roof of the run
    assert "92 %" in text  # of 4.8 TB/s
    summary = text[text.index("Worst rows") : text.index("Its roofs")]
    assert "One row is not as expected; the farthest, one a concept, by multiples" in summary
    assert "coalescing/strided_read/stride:3 at 733 GB/s: low, 50 % of what its law" in summary
    assert "bound by dram (bandwidth); 90 to 110 % is as expected" in summary
    assert "Why: the clock was held down while the row ran" in summary
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
    assert all("Why: the clock was held down" in entry for entry in found)
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
    assert "by the share of their tolerance that they use:" in one_line(Elements(page).text)
    b, a = entries_of_the_worst(page)  # b is nearer to its law, and to its edge
    assert b.startswith("b/k")
    assert "94 to 106 % is as expected (83 % of its tolerance)" in b
    assert "(15 % of its tolerance)" in a
    assert "What binds it: a memory moves all the bytes it can" in a
    page = summary_of(load, [bandwidth_row("a/k/n:1", DRAM / 2, DRAM)])
    assert "by multiples of their tolerance:" in one_line(Elements(page).text)
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
    assert "* no row is made for it: the best row that it bounds" in text


def test_rows_without_a_grade_are_explained(load):
    text = one_line(Elements(summary_of(load, [make_row("a/b/n:1", label="latency")])).text)
    assert (
        "Not graded: no law at their size, and no roof to hold them against (bound by latency)"
        in text
    )
    graded = summary_of(load, [make_row("a/b/n:1", roof_fraction=0.9)])
    assert "Not graded" not in graded


def test_how_to_read_a_kind_of_chart_is_said_once(pages):
    page = pages["cuda"]
    assert page.count("A panel a kernel along the longest axis") == 1
    assert page.count('href="#read-concept"') == 2  # the charts of two concepts point at it
    assert 'id="read-concept"' in page
    assert page.count("no device has said so") == 0
    assert pages["model"].count("no device has said so") == 1


def test_all_kernels_of_a_concept_are_told(load):
    rows = [
        bandwidth_row(f"a/kernel{k}/n:{n}", DRAM / n, DRAM / n) for k in range(6) for n in (1, 2)
    ]
    result = load(rows)
    (section,) = html_report._concepts(result, judge(result), [])
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
    assert figures == 4  # a roofline, the roofs and two concepts
    assert len(parsed.of("figcaption")) == figures
    charts = parsed.of("svg") + parsed.of("img")
    assert len(charts) == figures
    identities = {a["id"] for _, a in parsed.elements if a.get("id")}
    for chart in parsed.of("svg"):
        assert chart["role"] == "img"
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
    text = one_line(Elements(html_report.build(run, [other]).decode()).text)
    assert "Against model.json" in text
    assert "A is modelled and B is measured" in text


def test_a_comparison_draws_what_changed_and_counts_the_rest(load, write):
    def rows(slow):
        return [bandwidth_row(f"a/b/n:{n}", DRAM / (1.5 if n in slow else 1)) for n in range(4)]

    run = load(rows([]))
    other = read(write(make_document(rows([1, 3])), "other.json"))
    page = html_report.build(run, [other]).decode()
    assert "2 changes are drawn; of 4 rows in both, 2 show none." in page
    assert 'id="chart-compare-1"' in page
    same = read(write(make_document(rows([])), "same.json"))
    page = html_report.build(run, [same]).decode()
    assert "None of the 4 rows that are in both shows a difference." in page
    assert 'id="chart-compare-1"' not in page


def test_devices_that_differ_share_a_roofline(load, write):
    rows = roofline_rows()[:2]
    other = read(write(make_document(rows, device="b200", device_title="NVIDIA B200"), "b.json"))
    assert 'id="chart-devices"' in html_report.build(load(rows), [other]).decode()
    same = read(write(make_document(rows[:1]), "same.json"))
    run = load(rows[:1])
    assert 'id="chart-devices"' not in html_report.build(run, [same]).decode()


def test_equal_input_gives_equal_bytes(pages, tmp_path):
    path = tmp_path / "cuda.json"
    path.write_text(json.dumps(make_document(few_rows())))
    assert html_report.build(read(path)).decode() == pages["cuda"]


def test_too_many_rows_for_the_table_are_counted_and_the_odd_ones_kept(load):
    # Each is a concept of its own kind of argument: too many for one chart as well.
    rows = [bandwidth_row(f"a/b/n:{n}", DRAM, DRAM) for n in range(2100)]
    rows[2050] = bandwidth_row("a/b/n:2050", DRAM / 4, DRAM)
    page = page_of(load, rows)
    assert "The file has 600 more rows than this table" in page
    assert "No chart: it has too many rows" in page
    assert '"name":"a/b/n:2050"' in page


# --- what it must not let in ----------------------------------------------------------------------


def check_harmless(page: str, evil: str) -> None:
    """Only the page's own script runs, and nothing points outside."""
    parsed = Elements(page)
    scripts = parsed.of("script")
    assert [script.get("type") for script in scripts] == ["application/json", None]
    for name, attributes in parsed.elements:
        assert name not in ("iframe", "object", "embed", "link", "base", "form")
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            if key in ("href", "src", "action", "xlink:href"):
                assert (value or "").startswith(("#", "data:image/png;base64,")), (key, value)
    policy = parsed.of("meta")[1]["content"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


@settings(max_examples=2)
@given(st.text(min_size=1, max_size=40))
@example(EVIL)
@example("]]>{{7*7}}`${alert(1)}`\u202e\x00\ud800")
def test_nothing_from_a_file_becomes_markup(tmp_path_factory, evil):
    evil_text = evil.encode("utf-8", "replace").decode()
    rows = [
        make_row(f"c/k/n:{n}")
        | {
            "concept": evil_text,
            "kernel": evil_text,
            "label": evil_text,
            "rule": evil_text,
            "note": evil_text,
            "assuming": evil_text,
            evil_text + "_own": 3,
            "arguments": {evil_text: n},
        }
        for n in (1, 2)
    ]
    rows.append(make_row("c/k/n:3") | {"skipped": True, "skip_reason": evil_text})
    document = make_document(
        rows,
        device=evil_text,
        device_title=evil_text,
        driver_version=evil_text,
        git_commit=evil_text,
        mode=evil_text,
        compiler=evil_text,
    )
    path = tmp_path_factory.mktemp("evil") / "run.json"
    path.write_text(json.dumps(document))
    page = html_report.build(read(path)).decode()
    check_harmless(page, evil_text)


@given(st.text(max_size=60))
def test_text_comes_out_of_markup_as_it_went_in(text):
    element = markup.tag("p", text, title=text)
    parsed = Elements(str(element))
    assert [name for name, _ in parsed.elements] == ["p"]
    assert html.unescape(str(markup.text(text))) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=30) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3)
        ),
    )
)
@example({EVIL: [EVIL, "<!--", "]]>"]})
def test_a_data_block_is_json_and_cannot_be_left(value):
    block = str(markup.data_block("raw", value))
    content = block.partition(">")[2].removesuffix("</script>")
    assert not set("<>&") & set(content)
    assert json.loads(content) == value


# --- the command ----------------------------------------------------------------------------------


def test_html_goes_beside_the_file_and_is_named(write, capsys):
    path = write(make_document(few_rows()[:1]))
    assert main(["html", str(path)]) == 0
    assert capsys.readouterr().out == f"{path.with_suffix('.html')}\n"
    assert path.with_suffix(".html").read_bytes().startswith(b"<!DOCTYPE html>")


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
    assert "is **low**: 71.4 % of what is recorded for it (2 runs)" in capsys.readouterr().out


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    opened = Browser(program, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A report with good, low, skipped and hostile rows, compared with another run."""
    directory: Path = tmp_path_factory.mktemp("report")
    rows = [
        *low_rows(),
        *roofline_rows(),
        make_row("other/k/n:1") | {"skipped": True, "skip_reason": EVIL},
        make_row("other/k/n:2", label=EVIL) | {"kernel": EVIL},
    ]
    faster = [bandwidth_row("coalescing/strided_read/stride:1", DRAM * 1.2), *rows[1:]]
    for name, found, changes in (
        ("run", rows, {}),
        ("before", faster, {"driver_version": "570.1"}),
    ):
        (directory / f"{name}.json").write_text(json.dumps(make_document(found, **changes)))
    run, before = (read(directory / f"{name}.json") for name in ("run", "before"))
    page = directory / "run.html"
    page.write_bytes(html_report.build(run, [before]))
    return page.as_uri()


SHOWN = "Array.from(document.querySelectorAll('#rows-table tbody tr')).filter(r => !r.hidden)"


def test_the_page_opens_without_a_complaint_or_a_request(browser, address):
    browser.resize(1400, 900)
    browser.open(address)
    assert browser.complaints() == []
    outside = [u for u in browser.requests() if u != address and not u.startswith("data:image/png")]
    assert outside == []
    assert browser.evaluate("document.querySelectorAll('figure svg').length") >= 4
    assert browser.evaluate("typeof alerted") == "undefined"


def test_the_first_screen_holds_the_summary(browser, address):
    browser.resize(1400, 900)
    browser.open(address)
    for title in ("Is it healthy?", "Worst rows", "Its roofs", "All rows"):
        place = browser.evaluate(
            f"Array.from(document.querySelectorAll('h3')).find(h => h.textContent === '{title}')"
            ".getBoundingClientRect().bottom"
        )
        assert place < 900, title


@pytest.mark.parametrize("width", [390, 1400])
def test_no_width_scrolls_sideways(browser, address, width):
    browser.resize(width, 844)
    browser.open(address)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert len(browser.screenshot()) > 10_000
    charts = "Array.from(document.querySelectorAll('figure .scroll'))"
    cut = browser.evaluate(f"{charts}.some(e => e.scrollWidth > e.clientWidth)")
    told = browser.evaluate("document.querySelector('.swipe').offsetHeight > 0")
    assert told == cut == (width < 740)


@pytest.mark.parametrize("width", [390, 1400, 1920])
def test_no_link_of_the_navigation_is_cut(browser, address, width):
    browser.resize(width, 900)
    browser.open(address)
    cut = (
        "Array.from(document.querySelectorAll('nav a, nav summary')).filter(e => e.offsetParent)"
        f".filter(e => e.getBoundingClientRect().right > {width}"
        " || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== 'visible')"
    )
    assert browser.evaluate(f"{cut}.length") == 0
    browser.evaluate("document.querySelector('#concepts summary').focus()")
    browser.press("Enter")
    assert browser.evaluate("document.getElementById('concepts').open") is True
    assert browser.evaluate(f"{cut}.length") == 0
    assert browser.evaluate("document.querySelectorAll('#concepts a').length") == 3
    browser.press("Escape")
    assert browser.evaluate("document.getElementById('concepts').open") is False
    assert browser.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.mark.parametrize("width", [390, 794])  # a phone; A4
def test_one_column_has_the_answers_before_the_details_of_the_run(browser, address, width):
    browser.resize(width, 844)
    browser.open(address)
    places = browser.evaluate(
        "Array.from(document.querySelectorAll('#summary h3'))"
        ".map(h => [h.getBoundingClientRect().top, h.textContent]).sort((a, b) => a[0] - b[0])"
        ".map(p => p[1])"
    )
    assert places == ["Is it healthy?", "Worst rows", "Its roofs", "All rows", "Device and run"]


def test_filters_and_counts(browser, address):
    browser.open(address)
    everything = browser.evaluate(f"{SHOWN}.length")
    assert everything == 25
    browser.evaluate(
        "(() => { const w = document.getElementById('words'); w.value = 'STRIDED_read dram';"
        "w.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate(f"{SHOWN}.length") == 7
    assert browser.evaluate("document.getElementById('count').textContent") == "7 of 25 rows"
    browser.evaluate("document.getElementById('clear').click()")
    assert browser.evaluate(f"{SHOWN}.length") == everything
    browser.evaluate("document.querySelector('[data-show=grade][data-value=low]').click()")
    assert browser.evaluate(f"{SHOWN}.length") == 1
    assert browser.evaluate(f"{SHOWN}[0].cells[0].textContent") == (
        "coalescing/strided_read/stride:3"
    )


def test_a_head_sorts_and_says_so(browser, address):
    browser.open(address)
    titles = "Array.from(document.querySelectorAll('#rows-table th')).map(h => h.textContent)"
    assert browser.evaluate(titles)[:3] == ["name", "grade", "time"]
    head = "document.querySelectorAll('#rows-table th')[2]"
    values = f"{SHOWN}.map(r => Number(r.cells[2].dataset.v)).filter(v => !isNaN(v))"
    browser.evaluate(f"{head}.querySelector('button').focus()")
    browser.press("Enter")  # as somebody without a mouse does
    assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending"
    rising = browser.evaluate(values)
    assert rising == sorted(rising)
    browser.press("Enter")
    assert browser.evaluate(f"{head}.getAttribute('aria-sort')") == "descending"
    assert browser.evaluate(values) == sorted(rising, reverse=True)
    # What has no time stands last either way.
    assert browser.evaluate(f"{SHOWN}.at(-1).cells[2].textContent") == "·"


def test_a_name_opens_the_raw_values(browser, address):
    browser.open(address)
    browser.evaluate(f"{SHOWN}[12].querySelector('button').focus()")
    browser.press("Enter")
    assert browser.evaluate("document.getElementById('details').open") is True
    raw = json.loads(browser.evaluate("document.getElementById('details-raw').textContent"))
    assert raw["name"] == "coalescing/strided_read/stride:3"
    assert raw["throttled"] == 1
    words = browser.evaluate("document.getElementById('details-verdict').textContent")
    assert words.startswith("low: 50 % of what its law allows")
    browser.press("Escape")
    assert browser.evaluate("document.getElementById('details').open") is False


def test_dark_light_and_paper(browser, address):
    browser.open(address)
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.prefer("dark")
    dark = browser.evaluate(colour)
    browser.prefer("light")
    assert browser.evaluate(colour) != dark
    browser.evaluate("document.getElementById('theme').click()")
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    assert browser.evaluate(colour) == dark
    assert browser.pdf().startswith(b"%PDF")


# --- size and speed -------------------------------------------------------------------------------


def test_a_page_grows_by_concepts_and_not_by_rows(load):
    """What a page costs is its figures, so many a concept, each of a bounded size; what a figure
    costs is test_quick_ticks.py's matter. 1000 rows in 15 s on two cores and in 8 MB follow."""
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
    page = html_report.build(load(rows))
    concepts = len({row["concept"] for row in rows})
    assert page.count(b"<figure") == concepts + 2  # the roofline and the roofs
    assert len(page) < 2_000_000
