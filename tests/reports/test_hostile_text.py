"""What a file says in words is only ever shown: by no terminal obeyed, in no sheet a formula, in no
page or table part of its structure. Over every command that prints or writes, every text of a file.
"""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.common.plain_text import clean

from .factory import make_context, make_document, make_row, roof
from .html_pages import Elements

ALONE = (
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b31m",
    "=cmd|' /C calc'!A0",
    "@SUM(A1)",
    "a | b || c",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "two\nlines\r\nand\u2028more",
    "\u202etxt.exe\u2066\u200f",
    "`code` **bold** [link](http://example.com) <!-- x -->",
    "[bold red]markup[/bold red]",
    "\ud800\x00\ufffe",
)
# Each day two that have something of all; one by one before a release.
HOSTILE = (
    "=cmd|' /C'!A0\x1b]0;t\x07\x9b31m\u202e two\nlines\u2028<script>x</script> [bold]`",
    "\x1b[31m| b <img src=x onerror=x> `code` \u2066\ud800 [link](http://example.com)",
    *(pytest.param(evil, marks=pytest.mark.release) for evil in ALONE),
)
CONTEXT_TEXTS = (
    *("date", "device", "device_title", "driver_version", "cuda_version", "compiler", "suite"),
    *("compiler_flags", "git_commit", "mode", "filter", "imported_from"),
)
ROW_TEXTS = ("label", "source", "verified", "rule", "counts", "assuming", "arithmetic_unit")


def hostile_document(evil: str, factor: float = 1.0) -> dict:
    """A result file with `evil` in every text that a reader takes as it is."""
    rows = []
    for n in (1, 2, 4, 8):
        name = f"c{evil}/k{evil}/{evil or 'n'}:{n}"
        row = make_row("c/k", 1e-3 * n * factor, model_seconds=1.05e-3 * n)
        row |= {"name": name, "run_name": name, "concept": f"c{evil}", "kernel": f"{evil}k"}
        row |= dict.fromkeys(ROW_TEXTS, evil)
        row |= {"arguments": {f"{evil}n": n, "w": f"{evil}{n}"}, "axes": {f"{evil}n": evil}}
        row |= {"notes": [evil, f"x {evil}"], f"{evil}_own": evil, "own": evil, "grade_roof": evil}
        row |= {"headline": {"name": "own_rate", "unit": evil, "better": "higher"}, "own_rate": n}
        row |= {"terms": {evil: 1e-3}, "bytes": {evil: 1e6}}
        rows.append(row)
    rows.append(
        rows[0] | {"name": f"s{evil}", "run_name": "", "skipped": True, "skip_reason": evil}
    )
    failed = {"error_occurred": True, "error_message": evil}
    rows.append(rows[0] | {"name": f"f{evil}", "run_name": "", **failed})
    context = make_context(**dict.fromkeys(CONTEXT_TEXTS, evil), schema_version=2)
    context["roofs"] = [roof(evil, "bandwidth", 4e12) | {"unit": evil, "source": evil}]
    context |= {"concepts": {f"c{evil}": evil}, "axes": {f"{evil}n": evil}, "host_name": evil}
    context["device_state"] = {"ecc": evil, evil: evil}
    return {"context": context, "benchmarks": rows}


@pytest.fixture
def files(write, tmp_path):
    def write_files(evil: str) -> tuple[str, str]:
        paths = [
            write(hostile_document(evil, factor), name)
            for name, factor in (("one.json", 1.0), ("two.json", 1.5))
        ]
        return str(paths[0]), str(paths[1])

    return write_files


def printed(capsys, *arguments: str) -> str:
    """What the command printed, on both streams."""
    assert main(list(arguments)) in (0, 1, 2)
    said = capsys.readouterr()
    return said.out + said.err


def check_only_shown(text: str) -> None:
    for line in text.split("\n"):
        assert clean(line) == line, f"a terminal would obey {line!r}"


@pytest.mark.parametrize("evil", HOSTILE)
def test_no_terminal_obeys_a_word_of_a_file(files, capsys, evil):
    one, two = files(evil)
    for command in (
        ("table", one),
        ("csv", "--all", one),
        ("markdown", one, two),
        ("compare", one, two, "--all"),
        ("compare", one, two, "--by", "kernel"),
        ("claims", one),
        ("agree", one, two),
        ("calibrate", one),
    ):
        said = printed(capsys, *command)
        assert said
        check_only_shown(said)


@pytest.mark.parametrize("evil", HOSTILE)
def test_no_cell_of_a_sheet_is_a_formula(files, capsys, evil):
    one, _ = files(evil)
    for flags in ((), ("--all",)):
        table = list(csv.reader(io.StringIO(printed(capsys, "csv", *flags, one))))
        assert len(table) == 1 + 6
        assert len({len(line) for line in table}) == 1
        for cell in (cell for line in table for cell in line):
            assert not re.match(r"\s*[=+@-](?![\d.])", cell), f"a sheet would compute {cell!r}"


@pytest.mark.parametrize("sign", "\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b")
def test_a_formula_in_fullwidth_characters_is_none_either(write, capsys, sign):
    row = make_row("c/k", 1e-3, label=f"{sign}1+1")
    said = printed(capsys, "csv", "--all", str(write(make_document([row]))))
    assert f"'{sign}1+1" in said


@pytest.mark.parametrize("evil", HOSTILE)
def test_a_table_of_markdown_keeps_its_columns(files, capsys, evil):
    one, two = files(evil)
    said = printed(capsys, "markdown", one, two)
    tables = re.findall(r"(?:^\|.*\n)+", said, re.MULTILINE)
    assert tables
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table
    outside_code = re.sub(r"`[^`\n]*`", "", said)
    assert "<script" not in outside_code
    assert "<img" not in outside_code


@pytest.mark.parametrize("evil", HOSTILE[:2])
def test_a_page_has_no_element_of_a_file(files, capsys, evil):
    one, two = files(evil)
    printed(capsys, "html", one, two)
    page = Elements(Path(one).with_suffix(".html").read_text("utf-8"))
    assert [script.get("type") for script in page.of("script")] == ["application/json", None]
    assert all("onerror" not in attributes for _, attributes in page.elements)


@pytest.mark.parametrize("evil", HOSTILE)
def test_json_for_other_programs_keeps_to_its_form(files, capsys, evil):
    one, two = files(evil)
    for command in (("compare", one, two, "--json"), ("claims", one, "--json")):
        said = printed(capsys, *command)
        json.loads(said)
        check_only_shown(said)


def test_no_terminal_obeys_the_name_of_a_file(write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # where calibrate writes
    one, two = (str(write(make_document(), f"{n}\x1b[31m\x9b.json")) for n in ("one", "two"))
    for command in (
        ("table", one),
        ("compare", one, two),
        ("claims", one),
        ("diagnose", one),
        ("agree", one, two),
        ("markdown", one, two),
        ("html", one),
        ("calibrate", one),
    ):
        said = printed(capsys, *command)
        assert said
        check_only_shown(said)
