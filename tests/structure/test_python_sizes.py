"""No Python file is over 400 lines, no function over 60, and the formatter decides."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 400, 60


def python_files() -> list[str]:
    """What git tracks, and what is new and not ignored, as paths below the checkout."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others"]
    command += ["--exclude-standard", "--", "*.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(path for path in set(found.split("\0")) - {""} if (ROOT / path).is_file())


def long_functions(path: str, text: str) -> Iterator[str]:
    """ "file:line: name has so many lines" of every function that has too many."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"{path}:{node.lineno}: {node.name} has {lines} lines"


def test_no_file_is_too_long():
    lines = {path: (ROOT / path).read_text("utf-8").count("\n") for path in python_files()}
    assert lines
    assert {p: count for p, count in lines.items() if count > MOST_LINES_OF_A_FILE} == {}


def test_no_function_is_too_long():
    paths = python_files()
    found = [f for path in paths for f in long_functions(path, (ROOT / path).read_text("utf-8"))]
    assert found == []


def test_a_long_function_is_named_with_its_line():
    body = "\n".join(["    pass"] * MOST_LINES_OF_A_FUNCTION)
    text = f"x = 1\n\n\ndef short():\n    pass\n\n\nclass A:\n  def long(self):\n{body}\n"
    assert list(long_functions("a.py", text)) == ["a.py:9: long has 61 lines"]


def test_no_line_is_kept_from_the_formatter():
    mark = "fmt: " + "skip"
    marked = [path for path in python_files() if mark in (ROOT / path).read_text("utf-8")]
    assert marked == []
