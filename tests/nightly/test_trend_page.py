"""The trend page: what it says, and what its script does in a browser."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from reports.browser import Browser

from gpubench_reports.nightly.judging.status import decide
from gpubench_reports.nightly.reporting.page import write_page
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.index import Index
from gpubench_reports.nightly.store.store import Store

from .conftest import judged, put_night, put_nights

S = Settings()
NAME = "a/b/n:1"


def slow_nights(store: Store, seconds: float = 1.2e-4) -> None:
    for _ in range(2):
        put_night(store, {NAME: seconds}, rerun={NAME: seconds})


def page_of(store: Store) -> Path:
    judged(store)
    with Index(store) as index:
        return write_page(store, index, S, store.root / "p.html")


def test_the_page_shows_the_worst_first_and_escapes_everything(regressed: Store) -> None:
    with Index(regressed) as index:
        text = write_page(regressed, index, S, regressed.root / "p.html").read_text()
    assert "<b>&\"'" not in text
    assert "&lt;b&gt;&amp;" in text
    assert text.index("Regressions (1)") < text.index("Quiet (1)")
    assert "night 13, 2026-01-13, 120.0 µs, commit 0123456789: regression, 2 nights running" in text
    assert "night 14 of 2026-01-14: 1.90 GHz" in text
    # In the strip, for the pointer, at the change, and twice where it is said in words.
    assert text.count("commit 0123456789") == 14 + 14 + 1 + 2
    assert "+20.0 %" in text
    assert text.count('class="trend"') == 2
    assert text.count('class="strip"') == 1
    assert re.findall(r"https?://", text) == ["http://"]  # the name of SVG: it needs nothing else
    assert "REHEARSAL" not in text
    chart = text[text.index('<svg viewBox="0 0 300 84"') :]
    ElementTree.fromstring(chart[: chart.index("</svg>") + 6])


def test_a_night_that_ran_throttled_is_in_the_strip(store: Store) -> None:
    put_nights(store, 2)
    put_night(store, {NAME: {"seconds": 1e-4, "throttled": 1, "sm_clock_hz": 1.2e9}})
    text = page_of(store).read_text()
    assert "night 3 of 2026-01-03: 100% of the processes" in text
    assert "night 3 of 2026-01-03: 1.20 GHz" in text


def test_an_accepted_jump_keeps_its_reason(store: Store) -> None:
    put_nights(store, 12)
    slow_nights(store)
    judged(store)
    with Index(store) as index:
        decide(store, index, S, "accept", NAME, "checks its <input> now")
    text = page_of(store).read_text()
    reason = "accepted in night 14: checks its &lt;input&gt; now"
    assert f"<br>+20.0 % since night 13, {reason}" in text
    assert f"clock not known; {reason}</title>" in text
    assert "night 14, 2026-01-14: accepted, 1 series: checks its &lt;input&gt; now" in text
    # Later nights change nothing about it; another jump is another event, which nobody accepted.
    put_nights(store, 10, level=1.2e-4)
    assert reason in page_of(store).read_text()
    slow_nights(store, 1.5e-4)
    text = page_of(store).read_text()
    assert text.count(reason) == 1
    assert "Regressions (1)" in text


def point_at(browser: Browser, svg: str, across: float, kind: str = "mouseMoved", **more: Any):
    """Moves the mouse to a point of the chart: from 0 at its left to 1 at its right."""
    box = browser.evaluate(
        f"(() => {{ const b = document.querySelector('{svg}').getBoundingClientRect();"
        " return [b.left, b.top, b.width, b.height] })()"
    )
    place = {"x": box[0] + across * box[2], "y": box[1] + box[3] / 2}
    browser.call("Input.dispatchMouseEvent", type=kind, **place, **more)


def test_the_night_under_the_pointer_is_told_and_nights_are_zoomed(
    store: Store, browser: Browser
) -> None:
    put_nights(store, 18)
    slow_nights(store)
    path = page_of(store)
    browser.resize(1200, 900)
    browser.open(path.as_uri())
    told = "document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"
    point_at(browser, ".trend", 18.5 / 20)
    first = browser.evaluate(told)
    assert first.startswith("night 19, 2026-01-19, commit 0123456789, 120.0 µs, +2")
    assert first.endswith("regression, 2 nights running, clock not known")
    # A drag across the first ten nights leaves them alone in sight, at a scale of their own.
    labels = "Array.from(document.querySelectorAll('.trend text'), (t) => t.textContent)"
    assert browser.evaluate(labels)[0].startswith("+2")
    button = {"button": "left", "clickCount": 1}
    point_at(browser, ".trend", 0.03, "mousePressed", **button)
    point_at(browser, ".trend", 9.5 / 20, buttons=1)
    assert browser.evaluate("document.querySelectorAll('.brush').length") == 1
    point_at(browser, ".trend", 9.5 / 20, "mouseReleased", **button)
    assert browser.evaluate(labels) == ["+2.0 %", "-2.0 %"]
    ends = "['first', 'last'].map((c) => document.querySelector(`.strip .${c}`).textContent)"
    assert browser.evaluate(ends) == ["night 1, 2026-01-01", "night 10, 2026-01-10"]
    point_at(browser, ".trend", 0.98)
    assert browser.evaluate(told).startswith("night 10, ")
    # The keyboard does the same: to the next night, and back to all of them.
    browser.evaluate("document.querySelector('.trend').focus()")
    browser.press("ArrowLeft")
    assert browser.evaluate(told).startswith("night 9, ")
    browser.press("Escape")
    assert browser.evaluate(ends) == ["night 1, 2026-01-01", "night 20, 2026-01-20"]
    assert browser.evaluate(labels)[0].startswith("+2")
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]


def test_a_zoomed_dot_is_drawn_where_the_pointer_finds_it(store: Store, browser: Browser) -> None:
    """The page draws the dots, the script moves them: both must mean the same scale."""
    put_nights(store, 18)
    slow_nights(store)
    browser.resize(1200, 900)
    browser.open(page_of(store).as_uri())
    browser.evaluate("document.querySelector('.trend').focus()")
    for _ in range(2):
        place = browser.evaluate(
            """(() => {
              const svg = document.querySelector(".trend");
              svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
              const mark = svg.querySelector(".cursor").getAttribute("d").match(/[0-9.]+/g);
              const night = Number(document.getElementById("tip").textContent.match(/[0-9]+/)[0]);
              const dots = svg.querySelector(".nights").getAttribute("d").split("M").slice(1);
              const m = svg.querySelector(".plot").transform.baseVal.consolidate()?.matrix;
              const [x, y] = dots[night - 1].split("h")[0].split(" ").map(Number);
              const [a, d, e, f] = m ? [m.a, m.d, m.e, m.f] : [1, 1, 0, 0];
              return [Number(mark[0]), Number(mark[4]), a * x + e, d * y + f];
            })()"""
        )
        assert place[0] == pytest.approx(place[2], abs=0.5)
        assert place[1] == pytest.approx(place[3], abs=1.0)
        browser.evaluate(
            "document.querySelector('.trend').dispatchEvent(new KeyboardEvent('keydown', "
            "{ key: '+' }))"
        )
