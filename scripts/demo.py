#!/usr/bin/env python3
"""Draws docs/demo.svg: the README's first session, as a terminal shows it.

    ./scripts/demo.py           draws it again; tests compare it with the README
    ./scripts/demo.py FILE.svg  draws it there

What the session prints is tested too, so the picture shows what the program prints.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "demo.svg"
WIDTH, LINE, MARGIN, BAR = 7.8, 17.0, 16.0, 30.0  # of a character, and heights
COLOURS = {  # of words that a terminal colours
    "as expected": "#5fd3ac",
    "low on purpose": "#7cc4f0",
    "MODELLED, nothing here was measured": "#f2c464",
}
STYLE = (
    "text { font: 13px 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #e8e8e8; "
    "white-space: pre }"
)


def session(page: str) -> list[str]:
    """The lines of the page's first console block."""
    found = re.search(r"^```console\n(.*?)^```", page, re.M | re.S)
    if found is None:
        raise SystemExit("scripts/demo.py: README.md: has no console session")
    return found[1].splitlines()


def drawn(lines: list[str]) -> str:
    """The picture. Text that is coloured is a tspan of its own."""
    width = 2 * MARGIN + max(map(len, lines)) * WIDTH
    height = BAR + LINE * len(lines) + MARGIN
    buttons = "".join(
        f'<circle cx="{18 + 18 * number}" cy="15" r="5" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    texts = "\n".join(
        f'<text x="{MARGIN:g}" y="{BAR + LINE * (number + 0.7):g}" '
        f'textLength="{WIDTH * len(line):g}">{coloured(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">
<title>gpubench in a terminal: a modelled H200, nothing measured</title>
<style>{STYLE}</style>
<rect width="100%" height="100%" rx="8" fill="#1b1e23"/>
{buttons}
{texts}
</svg>
"""


def coloured(line: str) -> str:
    text = escape(line)
    if line.startswith("$ "):
        return f'<tspan fill="#5fd3ac">$</tspan>{text[1:]}'
    for words, colour in COLOURS.items():
        text = text.replace(words, f'<tspan fill="{colour}">{words}</tspan>')
    return text


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/demo.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", metavar="FILE.svg", type=Path, nargs="?", default=OUT)
    out: Path = parser.parse_args().out
    if out.suffix != ".svg":
        print(f"scripts/demo.py: {out}: takes the name of an .svg file", file=sys.stderr)
        return 2
    try:
        out.write_text(drawn(session((ROOT / "README.md").read_text("utf-8"))), encoding="utf-8")
    except OSError as error:
        print(f"scripts/demo.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
