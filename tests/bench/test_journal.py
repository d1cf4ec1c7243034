"""A journal that is of another run, or that somebody has changed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from .conftest import ROOT, SHORT_ROWS, run
from .test_survival import CONDITIONS, MODEL, broken_off, ended_by, kept


@pytest.mark.parametrize("flag", ["--device", "--conditions"])
def test_a_run_is_not_resumed_on_another_device_of_the_same_name(flag: str, tmp_path: Path) -> None:
    files = {
        "--device": ROOT / "harness/devices/h200-sxm.json",
        "--conditions": CONDITIONS / "faulty.json",
    }
    own = tmp_path / "own.json"
    text = files[flag].read_text().replace('"name": "h200-sxm"', '"name": "own"')
    own.write_text(text)
    out = tmp_path / "run.json"
    flags = (f"--device=model:{own}",) if flag == "--device" else (MODEL, f"--conditions={own}")
    words = (*flags, SHORT_ROWS)
    ended_by(signal.SIGKILL, *words, f"--benchmark_out={out}", rows=3)
    before = kept(out)
    assert before
    own.write_text(text + "\n")
    done = run(*words, f"--resume={out}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert complaint.endswith(f"the file of {flag} differs from the interrupted run")
    assert kept(out) == before
    own.write_text(text)
    assert run(*words, f"--resume={out}").returncode == (flag == "--conditions")


def test_a_run_is_not_resumed_with_other_words_of_its_context(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    words = (MODEL, SHORT_ROWS)
    ended_by(
        signal.SIGKILL,
        *words,
        "--benchmark_context=node=a",
        f"--benchmark_out={out}",
        rows=3,
    )
    done = run(*words, "--benchmark_context=node=b", f"--resume={out}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert "benchmark_context differs" in complaint
    assert run(*words, "--benchmark_context=node=a", f"--resume={out}").returncode == 0
    assert json.loads(out.read_text())["context"]["node"] == "a"


def test_a_run_is_not_resumed_by_another_program_of_the_same_commit(tmp_path: Path) -> None:
    """As after a kernel of one's own, in a folder of one's own, was changed."""
    out = broken_off(tmp_path)
    journal = tmp_path / "run.json.journal"
    first, rest = journal.read_text().split("\n", 1)
    line = json.loads(first)
    line["same"]["program"] += "0"
    journal.write_text(json.dumps(line) + "\n" + rest)
    before = kept(out)
    done = run(MODEL, SHORT_ROWS, f"--conditions={CONDITIONS / 'faulty.json'}", f"--resume={out}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert complaint.endswith("program differs from the interrupted run")
    assert kept(out) == before


def test_a_journal_that_is_none_is_one_clear_line(tmp_path: Path) -> None:
    out = broken_off(tmp_path)
    journal = tmp_path / "run.json.journal"
    first = journal.read_text().splitlines(keepends=True)[0]
    faulty = f"--conditions={CONDITIONS / 'faulty.json'}"
    journals = ("{}\n", '{"journal": "1"}\n', '{"journal": 1}\n')
    for text in (
        "not JSON\n",
        *journals,
        first + "odd\n",
        first + '{"row": {"name": 1}}\n',
        "half",
    ):
        journal.write_text(text)
        done = run(MODEL, SHORT_ROWS, faulty, f"--resume={out}")
        assert done.returncode == 2, text
        [complaint] = done.stderr.splitlines()
        assert complaint.startswith("gpubench: "), complaint
        assert "journal" in complaint


@pytest.mark.parametrize(
    "changed", [{"device_title": "\033]0;title\007"}, {"device_title": 5}, {"date": 5}, {}]
)
def test_a_journal_does_not_say_what_the_result_is_of(changed: dict, tmp_path: Path) -> None:
    out = broken_off(tmp_path)
    journal = tmp_path / "run.json.journal"
    first, rest = journal.read_text().split("\n", 1)
    line = json.loads(first)
    line["context"] = line["context"] | changed if changed else {}
    journal.write_text(json.dumps(line) + "\n" + rest)
    faulty = f"--conditions={CONDITIONS / 'faulty.json'}"
    done = run(MODEL, SHORT_ROWS, faulty, f"--resume={out}")
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert "its journal was changed: the context's " in complaint
    assert complaint.isprintable()
    assert done.stdout == ""
