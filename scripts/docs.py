#!/usr/bin/env python3
"""Writes what the pages say of a concept from the head of its bench file.

  ./scripts/docs.py            rewrites the README's table and the top of docs/concepts/NAME.md
  ./scripts/docs.py --check    changes nothing; names the pages that differ, exit code 1 if any does

A page's own words stand below its end marker and are never touched. A concept without a page gets
one with the sections to fill in.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("Expected", "Units", "Confirm")
SECTIONS = "\n## How to read it\n\n## What it cannot show\n"


class HeadError(Exception):
    """A bench file's head or a page is not as it must be: one line says what."""


@dataclass(frozen=True)
class Head:
    """The comment that a bench file begins with."""

    name: str
    question: str
    parts: dict[str, str]


def read_head(path: Path) -> Head:
    """The head of a bench file. Raises HeadError."""
    comment = re.match(r"(?://.*\n)*", path.read_text(encoding="utf-8"))
    lines = [line[2:] for line in comment.group().splitlines()] if comment else []
    first = re.fullmatch(rf" {path.stem}: (.+\?)", lines[0]) if lines else None
    if first is None:
        raise HeadError(f"{path.name}: the first line must be '// {path.stem}: QUESTION?'")
    parts: dict[str, str] = {}
    for line in lines[1:]:
        labelled = re.fullmatch(r" ([A-Z][a-z]+) +(.*)", line)
        if labelled and labelled[1] in PARTS:
            parts[labelled[1]] = labelled[2]
        elif line.startswith(" " * 11) and parts:
            parts[next(reversed(parts))] += " " + line.strip()
        elif line:
            raise HeadError(f"{path.name}: '//{line}' is of none of {', '.join(PARTS)}")
    if tuple(parts) != PARTS:
        raise HeadError(f"{path.name}: its head must have {', '.join(PARTS)}, in this order")
    return Head(path.stem, first[1], parts)


def sentence(question: str) -> str:
    return question[0].upper() + question[1:]


def top_of_page(head: Head) -> str:
    paragraphs = [f"# {head.name}", f"**{sentence(head.question)}**"]
    paragraphs += [f"*{label}.* {head.parts[label]}" for label in PARTS]
    paragraphs.append(
        f"Source: [`bench/{head.name}.cu`](../../bench/{head.name}.cu),"
        f" [`kernels/{head.name}.cuh`](../../kernels/{head.name}.cuh)"
    )
    return "\n\n".join(paragraphs) + "\n"


def table(heads: list[Head], pages: str | None = None) -> str:
    """One line per concept, with the way to its page where `pages` says where they are."""
    names = [f"[{h.name}]({pages}/{h.name}.md)" if pages else h.name for h in heads]
    rows = [f"| {name} | {sentence(h.question)} |" for name, h in zip(names, heads, strict=True)]
    return "\n".join(["| concept | question |", "|---|---|", *rows]) + "\n"


def with_block(text: str, name: str, block: str, page: str) -> str:
    """The page with what stands between the markers of this name replaced. Raises HeadError."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise HeadError(f"{page} has no block between '{begin.strip()}' and '{end.strip()}'")
    return before + begin + block + end + after


def pages(root: Path) -> dict[Path, str]:
    """What each page with a generated part must hold. Raises HeadError."""
    heads = [read_head(path) for path in sorted((root / "bench").glob("*.cu"))]
    made = {}
    # The README has two screens of room: the links stand in the other.
    for path, block in (
        (root / "README.md", table(heads)),
        (root / "docs/README.md", table(heads, "concepts")),
    ):
        made[path] = with_block(
            path.read_text(encoding="utf-8"), "concepts", block, str(path.relative_to(root))
        )
    for head in heads:
        path = root / "docs" / "concepts" / f"{head.name}.md"
        empty = f"<!-- head: begin -->\n<!-- head: end -->\n{SECTIONS}"
        text = path.read_text(encoding="utf-8") if path.exists() else empty
        made[path] = with_block(text, "head", top_of_page(head), path.name)
    return made


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/docs.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="change nothing, name what differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    options = parser.parse_args(arguments)
    try:
        made = pages(options.root)
    except (HeadError, OSError) as error:
        print(f"scripts/docs.py: {error}", file=sys.stderr)
        return 2
    stale = [p for p, text in made.items() if not p.exists() or p.read_text() != text]
    for path in stale:
        print(path.relative_to(options.root))
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
