"""Makes charts of a page smaller: looks that recur become classes, long ids short ones."""

import re
from collections import Counter
from collections.abc import Sequence

from gpubench_reports.pages.html.markup import Markup

_STYLE = re.compile(r' style="([^"]*)"')
_MINE = re.compile(r' (id="|href="#)([^"]*-[mp][0-9a-f]{10}(?:-\d+)?)"')
_CLIP = re.compile(r"url\(#([^)]*-[mp][0-9a-f]{10}(?:-\d+)?)\)")
_OFTEN = 3  # a look that is seen so often is worth a class


def compact(charts: Sequence[Markup]) -> tuple[list[Markup], Markup]:
    """The charts as they were to the eye, and the style sheet that they need."""
    seen = Counter(style for chart in charts for style in _STYLE.findall(chart))
    often = [style for style, count in seen.most_common() if count >= _OFTEN]
    names = {style: f"c{number}" for number, style in enumerate(often) if "--width" not in style}
    sheet = "".join(f".{name}{{{style}}}" for style, name in names.items())
    short: dict[str, str] = {}
    return [_shortened(chart, names, short) for chart in charts], Markup(sheet)


def _shortened(chart: Markup, names: dict[str, str], short: dict[str, str]) -> Markup:
    def look(match: re.Match[str]) -> str:
        name = names.get(match[1])
        return f' class="{name}"' if name else match[0]

    def identity(long: str) -> str:
        return short.setdefault(long, f"i{len(short)}")

    text = _STYLE.sub(look, chart)
    text = _MINE.sub(lambda m: f' {m[1]}{identity(m[2])}"', text)
    return Markup(_CLIP.sub(lambda m: f"url(#{identity(m[1])})", text))
