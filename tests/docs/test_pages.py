"""Pages are short, their links lead somewhere, and what they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import ROOT, anchors, blocks, commands, label, links, pages, without_code

README = ROOT / "README.md"


def test_the_readme_is_two_screens():
    assert len(README.read_bytes()) <= 8192


def test_the_two_commands_come_first():
    first = blocks(README.read_text(), "sh")[0]
    assert [words[0] for words in commands(first)] == ["./scripts/bench", "./scripts/test"]
    assert README.read_text().index(first.text) < 400


@pytest.mark.parametrize("page", pages(), ids=label)
def test_a_page_can_be_read_in_one_go(page: Path):
    # What a command writes is looked up, not read.
    written = re.sub(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", "", page.read_text(), flags=re.S)
    assert len(written.splitlines()) <= 300


@pytest.mark.parametrize("page", pages(), ids=label)
def test_links_lead_to_a_page_and_a_heading(page: Path):
    dead = []
    for link in links(page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text())):
            dead.append(link)
    assert not dead


def test_every_page_of_docs_is_one_click_from_the_index_or_the_readme():
    index = ROOT / "docs/README.md"
    reached = {
        (start.parent / link.partition("#")[0]).resolve()
        for start in (README, index, ROOT / "docs/nightly.md")
        for link in links(start.read_text())
    }
    assert not {p for p in (ROOT / "docs").rglob("*.md") if p != index and p not in reached}


# Placeholders: NAME.json, NN-name, YYYY-MM-DD, ..., and what a run writes.
_OPEN = re.compile(r"[*<>$]|\.\.\.|NAME|\bNN\b|\bDIR\b|\bFILE\b|^results/local")
_FOLDERS = "bench|docs|harness|kernels|labs|reports|scripts|tests"


@pytest.mark.parametrize("page", pages(), ids=label)
def test_paths_in_the_text_exist(page: Path):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    named = re.findall(rf"`\.?/?((?:{_FOLDERS})/[^`\s]*?)(?::\d+)?[`\s]", text)
    assert not [p for p in named if not _OPEN.search(p) and not (ROOT / p).exists()]


@pytest.mark.parametrize("page", [p for p in pages() if "harness" in p.parts], ids=label)
def test_files_beside_a_page_of_the_harness_exist(page: Path):
    named = re.findall(r"`([\w./]+/[\w.]+\.(?:hpp|cpp|h|json|py))`", page.read_text())
    assert not [
        name
        for name in named
        if not any((at / name).exists() for at in (page.parent, page.parent / "include", ROOT))
    ]


def test_headings_become_the_anchors_that_github_makes():
    text = "# A `b_c`, d?\n## What it *is*\n```\n# no heading\n```\n"
    assert anchors(text) == {"a-b_c-d", "what-it-is"}


def test_links_in_code_are_no_links():
    assert links("[a](b.md) `[c](d.md)`\n```\n[e](f.md)\n```\n") == ["b.md"]
    assert without_code("`x` y") == " y"
