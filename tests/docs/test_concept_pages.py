"""Pages of concepts say what the heads of bench files say."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT
from .test_commands import built, gpubench  # noqa: F401

SCRIPT = ROOT / "scripts" / "docs.py"
spec = importlib.util.spec_from_file_location("docs_script", SCRIPT)
assert spec
assert spec.loader
docs = importlib.util.module_from_spec(spec)
sys.modules["docs_script"] = docs
spec.loader.exec_module(docs)

HEAD = """// widgets: what does a widget cost?
//
// Expected  As much as
//           two.
// Units     widgets [1].
// Confirm   ncu
#include "harness/bench/bench.hpp"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/widgets.cu").write_text(HEAD)
    (tmp_path / "README.md").write_text(
        "before\n<!-- concepts: begin -->\nold\n<!-- concepts: end -->\nafter\n"
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("<!-- concepts: begin -->\n<!-- concepts: end -->\n")
    return tmp_path


def test_the_pages_hold_what_the_heads_say(capsys):
    stale = docs.main(["--check"])
    assert stale == 0, "run: ./scripts/docs.py\n" + capsys.readouterr().out


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/concepts").glob("*.md")), ids=lambda p: p.stem
)
def test_a_page_says_how_to_read_it_and_what_it_cannot_show(path: Path):
    assert (ROOT / "bench" / f"{path.stem}.cu").exists()
    for section in ("## How to read it", "## What it cannot show"):
        words = path.read_text().partition(section)[2].partition("\n## ")[0].split()
        assert len(words) > 5, section


def test_a_new_concept_gets_a_page_and_a_line(tree: Path, capsys):
    assert docs.main(["--root", str(tree), "--check"]) == 1
    assert not (tree / "docs/concepts").exists()
    assert docs.main(["--root", str(tree)]) == 0
    page = (tree / "docs/concepts/widgets.md").read_text()
    assert "**What does a widget cost?**" in page
    assert "*Expected.* As much as two." in page
    assert "## What it cannot show" in page
    readme = (tree / "README.md").read_text()
    assert "| widgets | What does a widget cost? |" in readme
    linked = (tree / "docs/README.md").read_text()
    assert "| [widgets](concepts/widgets.md) | What does a widget cost? |" in linked
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    assert docs.main(["--root", str(tree), "--check"]) == 0


def test_the_words_of_a_page_stay(tree: Path):
    docs.main(["--root", str(tree)])
    page = tree / "docs/concepts/widgets.md"
    page.write_text(page.read_text() + "Read it backwards.\n")
    (tree / "bench/widgets.cu").write_text(HEAD.replace("two", "three"))
    docs.main(["--root", str(tree)])
    assert "As much as three." in page.read_text()
    assert page.read_text().endswith("Read it backwards.\n")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("what does a widget cost?", "widgets"), "the first line must be"),
        (("// Units     widgets [1].\n", ""), "must have Expected, Units, Confirm"),
        (("// Units     ", "// Unit      "), "is of none of"),
    ],
)
def test_a_head_of_another_form_is_one_clear_line(tree: Path, change, complaint, capsys):
    (tree / "bench/widgets.cu").write_text(HEAD.replace(*change))
    assert docs.main(["--root", str(tree)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "widgets.cu" in line
    assert complaint in line


def test_a_readme_without_the_table_is_one_clear_line(tree: Path, capsys):
    (tree / "README.md").write_text("no table\n")
    assert docs.main(["--root", str(tree)]) == 2
    assert "README.md has no block" in capsys.readouterr().err


def test_it_runs_as_a_program():
    done = subprocess.run([str(SCRIPT), "--help"], capture_output=True, text=True, check=True)
    assert "--check" in done.stdout


def test_every_key_of_a_row_is_in_the_result_format(tmp_path: Path):
    """The keys of the suite as the pictures' file has it, and of a run of today."""
    out = tmp_path / "run.json"
    chosen = "--benchmark_filter=^(coalescing/strided|occupancy/copy|fusion/add)"
    done = gpubench(
        "--device=model:h200-sxm", chosen, "--suite=quick", "--profile", f"--benchmark_out={out}"
    )
    assert done.returncode == 0, done.stderr
    named = set(re.findall(r"`([a-z0-9_]+)`", (ROOT / "docs/result-format.md").read_text()))
    suite = ROOT / "reports/gallery/h200-sxm.json"
    rows = [row for file in (suite, out) for row in json.loads(file.read_text())["benchmarks"]]
    google = "family_index per_family_instance_index run_name run_type repetitions repetition_index"
    keys = {key for row in rows for key in row} - {*google.split(), "threads", "iterations"}
    assert len(keys) > 60
    assert not sorted(keys - named)
