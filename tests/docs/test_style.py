"""Phrases that were edited out stay out, whoever writes the next page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import ROOT, label, tracked

# A line break may fall anywhere.
PHRASES = [
    r"a GPU really does",
    r"builds the half that models",
    r"one short file a concept",
    r"Beside every figure stands",
    r"the roof that `roof_fraction` is of",
    r"that something else bound than what its figure is about",
    r"of what (?:its|the) law allows",
    r"the farthest, one a concept",
    r"by multiples of their tolerance",
    r"more time than padded",
    r"which multiplies [\d{]",
    r"a memory moves all the bytes it can",
    r"and no device has said so",
    r"wait for each other is in no",
    r"not gated: other work gave it a head start",
    r"buffers the caches have forgotten",
    r"a leading '-' takes",
    r"whatever its [a-z]+;",
    r"is no folder",
    r"takes a number that is not negative",
    r"\b(?:sectors|wavefronts|requests) a request",
    r"\b(?:items|steps|launches|bytes|additions|accesses) a second",
    r"\b(?:a|one) line a row",
    r"a row a kernel",
    r"bytes a lane",
    r"\ban SM of\b(?! this)",
    r"verdict: nothing",
]
TEXT = [
    ".md",
    ".py",
    ".toml",
    ".cpp",
    ".hpp",
    ".h",
    ".cu",
    ".cuh",
    ".sh",
    ".js",
    ".css",
    ".json",
    ".cmake",
    "",
]
# Recorded output of other programs and of older runs.
ELSEWHERE = ("tests/data/", "reports/gallery/", "tests/docs/test_style.py", "results/")


def files() -> list[Path]:
    return [
        path for path in tracked() if path.suffix in TEXT and not label(path).startswith(ELSEWHERE)
    ]


@pytest.mark.parametrize("phrase", PHRASES)
def test_the_phrase_is_gone(phrase: str):
    pattern = re.compile(phrase.replace(" ", r"(?:\s|//|#|\*|\")+"))
    found = [
        f"{label(path)}:{text.count(chr(10), 0, hit.start()) + 1}"
        for path in files()
        for text in [path.read_text(errors="replace")]
        for hit in [pattern.search(text)]
        if hit
    ]
    assert not found, "\n".join(found)


def test_it_looks_at_the_pages_and_the_code():
    names = {label(path) for path in files()}
    assert {"README.md", "bench/coalescing.cu", "scripts/lib.sh", "scripts/bench"} <= names
    assert ROOT / "tests/docs/test_style.py" not in files()
