"""The page in a browser, where there is one."""

import json
from pathlib import Path

import pytest

from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.results.reader import read

from .factory import (
    DRAM,
    bandwidth_row,
    compute_row,
    make_document,
    make_row,
    roofline_rows,
)
from .html_pages import EVIL, low_rows


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A report with good, low, skipped and hostile rows, compared with another run."""
    directory: Path = tmp_path_factory.mktemp("report")
    rows = [
        *low_rows(),
        *roofline_rows(),
        compute_row("gemm/naive/n:64", 200.0, 1e12),
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
    page.write_bytes(build_page(run, [before]))
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
    titles = ("Is this run healthy?", "Is it good?", "What binds it?", "Worst rows", "Its roofs")
    for title in titles:
        place = browser.evaluate(
            f"Array.from(document.querySelectorAll('h3')).find(h => h.textContent === '{title}')"
            ".getBoundingClientRect().bottom"
        )
        assert place < 900, title


@pytest.mark.parametrize("width", [320, 390, 1400])
def test_no_width_scrolls_sideways(browser, address, width):
    browser.resize(width, 844)
    browser.open(address)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert len(browser.screenshot()) > 10_000
    charts = "Array.from(document.querySelectorAll('figure .scroll'))"
    cut = browser.evaluate(f"{charts}.some(e => e.scrollWidth > e.clientWidth)")
    told = browser.evaluate("document.querySelector('.swipe').offsetHeight > 0")
    assert told == cut == (width < 740)


def test_a_long_name_in_a_sentence_makes_no_page_wider(browser, write):
    name = "data_pipeline/load/memory:pinned/decode:host/threads:8/depth:8/us:100"
    page = write("", "long.html")
    rows = [bandwidth_row(name, DRAM / 6, DRAM / 3)]
    page.write_bytes(build_page(read(write(make_document(rows)))))
    browser.resize(320, 844)
    browser.open(page.as_uri())
    assert browser.evaluate("document.querySelector('.found').textContent.includes('us:100')")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 320


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
    assert browser.evaluate("document.querySelectorAll('#concepts a').length") == 4
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
    assert places == [
        "Is this run healthy?",
        "Is it good?",
        "What binds it?",
        "What changed since before.json?",
        "Worst rows",
        "Device and run",
        "Its roofs",
    ]


def test_filters_and_counts(browser, address):
    browser.open(address)
    everything = browser.evaluate(f"{SHOWN}.length")
    assert everything == 26
    browser.evaluate(
        "(() => { const w = document.getElementById('words'); w.value = 'STRIDED_read dram';"
        "w.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate(f"{SHOWN}.length") == 7
    assert browser.evaluate("document.getElementById('count').textContent") == "7 of 26 rows"
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
    assert words.startswith("low: 50 % of the predicted limit")
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


POINTS = "Array.from(document.querySelectorAll('#chart-concept-coalescing a.point'))"


def test_points_answer_to_the_keyboard_and_to_the_mouse(browser, address):
    browser.resize(1400, 900)
    browser.open(address)
    assert browser.evaluate("document.getElementById('tip').hidden") is True
    browser.evaluate(f"{POINTS}[0].scrollIntoView({{block: 'center'}})")
    browser.evaluate(f"{POINTS}[0].focus()")
    name = "document.getElementById('tip-name').textContent"
    first = browser.evaluate(name)
    assert first.startswith("coalescing/strided_read/stride:")
    figures = browser.evaluate("document.getElementById('tip-figures').textContent")
    for title in ("value", "95 % interval", "law", "model", "roof", "grade"):
        assert title in figures
    browser.press("ArrowRight")
    second = browser.evaluate(name)
    assert second != first
    browser.press("Escape")
    assert browser.evaluate("document.getElementById('tip').hidden") is True
    browser.press("ArrowLeft")
    assert browser.evaluate(name) == first
    place = browser.evaluate(
        f"(() => {{ const r = {POINTS}[2].getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    assert browser.evaluate("document.getElementById('tip').hidden") is False
    assert browser.evaluate(name) not in (first, second)
    browser.evaluate(f"{POINTS}[1].focus()")
    browser.press("Enter")
    focused = browser.evaluate("document.activeElement.closest('tr').cells[0].textContent")
    assert focused == second


def test_concepts_of_the_roofline_are_switched_off_and_on(browser, address):
    browser.resize(1400, 900)
    browser.open(address)
    box = "document.querySelector('#chart-roofline .concepts')"
    assert browser.evaluate(f"{box}.hidden") is False
    names = browser.evaluate(
        f"Array.from({box}.querySelectorAll('[data-of]')).map(b => b.dataset.of)"
    )
    assert len(names) == 2
    shown = (
        "Array.from(document.querySelectorAll('#chart-roofline svg [data-of]'))"
        ".filter(e => getComputedStyle(e).display !== 'none').map(e => e.dataset.of)"
    )
    assert set(browser.evaluate(shown)) == set(names)
    browser.evaluate(f"{box}.querySelector('[data-of]').click()")
    assert set(browser.evaluate(shown)) == set(names[1:])
    pressed = f"{box}.querySelector('[data-of]').getAttribute('aria-pressed')"
    assert browser.evaluate(pressed) == "false"
    browser.evaluate(f"{box}.querySelector('.every').click()")
    assert set(browser.evaluate(shown)) == set(names)
    browser.evaluate(f"{box}.querySelector('.every').click()")
    assert browser.evaluate(shown) == []


def test_no_number_of_the_table_is_broken_on_paper(browser, address):
    browser.resize(1050, 900)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        browser.open(address)
        cells = "Array.from(document.querySelectorAll('#rows-table td[data-v]'))"
        assert browser.evaluate(f"{cells}.length") > 50
        broken = "c => getComputedStyle(c).whiteSpace !== 'nowrap'"
        assert browser.evaluate(f"{cells}.filter({broken}).length") == 0
        assert browser.evaluate("document.documentElement.scrollWidth") <= 1050
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
