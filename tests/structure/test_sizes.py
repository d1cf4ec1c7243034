"""No giants: a file fits a reader's head, a function fits two screens."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 400, 60
PYTHON = ("*.py",)
CPP = ("*.cpp", "*.hpp", "*.h", "*.cu", "*.cuh")
# Paths that may be longer for now. One that no longer is has to leave this list. Python has none.
LONG_FILES: frozenset[str] = frozenset()


def tracked(*patterns: str) -> list[str]:
    """What git tracks, and what is new and not ignored, as paths below the checkout."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others"]
    command += ["--exclude-standard", "--", *patterns]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(path for path in set(found.split("\0")) - {""} if (ROOT / path).is_file())


def too_long(paths: list[str]) -> list[str]:
    lines = {path: (ROOT / path).read_text("utf-8").count("\n") for path in paths}
    return [path for path in paths if lines[path] > MOST_LINES_OF_A_FILE]


def long_functions(path: str, text: str) -> Iterator[str]:
    """ "file:line: name has so many lines" of every function that has too many."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"{path}:{node.lineno}: {node.name} has {lines} lines"


def test_no_python_file_is_too_long():
    assert too_long(tracked(*PYTHON)) == []


def test_no_python_function_is_too_long():
    paths = tracked(*PYTHON)
    assert paths
    found = [f for path in paths for f in long_functions(path, (ROOT / path).read_text("utf-8"))]
    assert found == []


@pytest.mark.skipif(not LONG_FILES, reason="the list of long C++ files is not filled in yet")
def test_the_long_cpp_files_are_those_of_the_list():
    assert set(too_long(tracked(*CPP))) == LONG_FILES


def test_a_long_function_is_named_with_its_line():
    body = "\n".join(["    pass"] * MOST_LINES_OF_A_FUNCTION)
    text = f"x = 1\n\n\ndef short():\n    pass\n\n\nclass A:\n  def long(self):\n{body}\n"
    assert list(long_functions("a.py", text)) == ["a.py:9: long has 61 lines"]


def test_no_line_is_kept_from_the_formatter():
    mark = "fmt: " + "skip"
    marked = [path for path in tracked(*PYTHON) if mark in (ROOT / path).read_text("utf-8")]
    assert marked == []
