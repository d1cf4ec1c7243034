"""Pages to be looked at, and what takes them apart."""

import json
import re
from html.parser import HTMLParser

from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.pages.html.facts import gather
from gpubench_reports.pages.html.summary import summary

from .factory import (
    DRAM,
    bandwidth_row,
    coalescing_rows,
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
    return build_page(load(rows or few_rows(), **context)).decode()


def summary_of(load, rows, **context) -> str:
    """The summary alone: no chart is drawn."""
    result = load(rows, **context)
    return summary(gather(result))


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


def raw_of(page: str) -> list[dict]:
    """What the page's script reads of its rows."""
    found = re.search(r'<script type="application/json" id="raw">(.*?)</script>', page)
    assert found
    packed = json.loads(found[1])

    def unpack(part):
        if not isinstance(part, list):
            return part
        number, *values = part
        if number < 0:
            return [unpack(value) for value in values]
        return dict(zip(packed["keys"][number], map(unpack, values), strict=True))

    return unpack(packed["value"])
