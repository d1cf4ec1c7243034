"""No comment or docstring begins with "Of": it lacks its subject, and reads as no sentence."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from .test_cpp_sizes import LITERALS, ROOT, sources
from .test_python_sizes import python_files

HEADLESS = re.compile(r"Of\b")


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """(line, words) of every comment and docstring."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and (words := ast.get_docstring(node)):
            yield node.body[0].lineno, words


def cpp_comments(text: str) -> Iterator[tuple[int, str]]:
    for found in LITERALS.finditer(text):
        if found.group().startswith(("//", "/*")):
            line = text.count("\n", 0, found.start()) + 1
            yield line, found.group().lstrip("/*!< \n")


def headless(comments: Iterator[tuple[int, str]]) -> list[int]:
    return [line for line, words in comments if HEADLESS.match(words)]


def test_no_python_comment_begins_with_of():
    texts = {path: (ROOT / path).read_text("utf-8") for path in python_files()}
    assert texts
    found = [
        f"{path}:{line}"
        for path, text in texts.items()
        if HEADLESS.search(text)  # most files need not be taken apart
        for line in headless(python_comments(text))
    ]
    assert found == []


def test_no_cpp_comment_begins_with_of():
    files = sources()
    assert files
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in files
        for line in headless(cpp_comments(file.read_text("utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# Of a row.\nx = 1  # Of a GPU.\n", [1, 2]),
        ('"""Of a night."""\n\n\nclass A:\n    """Of a row."""\n', [1, 5]),
        ('def f():\n    """Of a row."""\n', [2]),
        ('x = "# Of a row."  # often\n# Offset of a row, not\n# of a GPU.\n', []),
    ],
)
def test_a_headless_comment_in_python_is_found(text: str, lines: list[int]):
    assert sorted(headless(python_comments(text))) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("int a;  // Of a row.\n/// Of a GPU.\n", [1, 2]),
        ("/*\n * Of a row.\n */\n", [1]),
        ('auto x = "// Of a row.";  // often\n// Offset of a row, not\n// of a GPU.\n', []),
    ],
)
def test_a_headless_comment_in_cpp_is_found(text: str, lines: list[int]):
    assert headless(cpp_comments(text)) == lines
