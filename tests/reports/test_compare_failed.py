"""Rows that failed in B pass no gate and are listed, whatever A says of them."""

import json

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.comparisons.compare import compare
from gpubench_reports.pages.html.build import build
from gpubench_reports.results.reader import read

from .factory import make_document, make_row

WRONG = {"name": "x/k", "error_occurred": True, "error_message": "wrong sum"}
SKIPPED = {"name": "x/k", "skipped": True, "skip_reason": "no such unit"}


@pytest.mark.parametrize(
    ("in_a", "why"),
    [
        ([WRONG], "failed in both files: wrong sum"),
        ([SKIPPED], "failed in B, skipped in A: wrong sum"),
        ([], "failed in B, absent in A: wrong sum"),
        ([make_row("x/k")], "failed there: wrong sum"),
    ],
)
def test_a_row_that_failed_in_b_passes_no_gate(write, capsys, in_a, why):
    a = str(write(make_document([make_row("a/b"), *in_a]), "a.json"))
    b = str(write(make_document([make_row("a/b"), WRONG]), "b.json"))
    assert main(["compare", a, b, "--fail-on=5%"]) == 1
    out, err = capsys.readouterr()
    assert f"  x/k: {why}" in out
    assert err == f"1 row of B beyond --fail-on=5%:\n  x/k: {why}\n"
    assert main(["compare", a, b, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["only_a"] + found["failed"] == [{"name": "x/k", "why": why}]
    page = build(read(write(make_document([make_row("a/b"), WRONG]), "b.json")), [read(a)])
    failed = b"1 row without a time in A failed in B." in page
    assert failed != (in_a == [make_row("x/k")])


def test_a_row_that_failed_in_a_alone_is_no_fault_of_b(write):
    a = read(write(make_document([make_row("a/b"), WRONG]), "a.json"))
    for rows in ([], [SKIPPED], [make_row("x/k")]):
        b = write(make_document([make_row("a/b"), *rows]), "b.json")
        assert compare(a, read(b)).failed == []
        assert main(["compare", str(a.path), str(b), "--fail-on=5%"]) == 0
