"""The repository's pages, and what stands in them: links, anchors, fenced blocks, commands."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)


def tracked(*patterns: str) -> list[Path]:
    """Files that git tracks, and new ones that it does not ignore."""
    done = subprocess.run(
        [
            "git",
            "-c",
            f"safe.directory={ROOT}",
            "-C",
            str(ROOT),
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
            *patterns,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(done.stdout.split("\0")) - {""})
    return [path for path in (ROOT / name for name in names) if path.is_file()]


@cache
def pages() -> list[Path]:
    """Every Markdown page; of the data of tests, none."""
    return [path for path in tracked("*.md") if "tests" not in path.relative_to(ROOT).parts]


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", without_code(text))


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks(text: str, language: str) -> list[Block]:
    return [Block(*found) for found in _FENCE.findall(text) if found[0] == language]


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a shell block, without comments, pipes and redirections."""
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in lexer:
            if set(word) <= set("|&;"):
                yield from ([words] if words else [])
                words = []
            else:
                words.append(word)
        if words:
            redirected = next((n for n, word in enumerate(words) if set(word) <= set("<>")), None)
            yield words[:redirected]


@dataclass(frozen=True)
class Session:
    """A command as somebody typed it, and what the page says that it printed."""

    command: str
    printed: list[str]


def sessions(block: Block) -> list[Session]:
    parts = re.split(r"^\$ ", block.text, flags=re.M)[1:]
    return [Session(part.splitlines()[0], part.splitlines()[1:]) for part in parts]


def missing(printed: list[str], output: str) -> list[str]:
    """Lines of a page that the output does not have, in their order. "..." stands for any lines."""
    rest = iter([line.rstrip() for line in output.splitlines()])
    return [line for line in printed if line != "..." and line.rstrip() not in rest]
