"""The pull-request gate, and bisection with the gate as oracle."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.gate.bisecting import _search
from gpubench_reports.nightly.gate.gate import Gate, least_processes, statistics
from gpubench_reports.nightly.nights.running import CannotJudgeError
from gpubench_reports.nightly.rule.settings import Settings
from gpubench_reports.nightly.store.process_file import ProcessFile, read_process

from .conftest import FAKE, process_file
from .nights import ROWS

S = Settings()


def noisy(rows: int, seed: int, noise: float = 0.005) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    a, b = 1e-4 * np.exp(noise * chance.standard_normal((2, rows, 10)))
    return a, b


@pytest.mark.parametrize("noise", [0.005, 0.04])
def test_a_against_a_is_quiet(noise: float) -> None:
    """With the larger noise the floor holds nothing back: the correction over the rows does."""
    refused = 0
    for seed in range(10):
        side = statistics(*noisy(100, seed, noise), S, seed, resamples=200).side
        refused += bool((side != 0).any())
    assert refused == 0  # of 1000 rows


def test_a_drift_of_the_machine_does_it_to_both() -> None:
    a, b = noisy(100, 1)
    drift = np.linspace(1.0, 1.08, 10)
    assert not statistics(a * drift, b * drift, S, 1, resamples=200).side.any()


def test_one_slow_row_among_four_hundred_is_found() -> None:
    a, b = noisy(400, 2)
    b[7] *= 1.04
    b[9] *= 0.96
    b[11] *= 1.01  # below the floor
    found = statistics(a, b, S, 1, resamples=400)
    assert {int(i): int(found.side[i]) for i in np.flatnonzero(found.side)} == {7: 1, 9: -1}
    assert found.low[7] < found.ratio[7] < found.high[7]
    assert found.ratio[7] == pytest.approx(1.04, abs=0.01)
    assert found.low[7] > 1.02


def test_without_all_intervals_the_verdict_is_the_same() -> None:
    a, b = noisy(60, 4)
    b[5] *= 1.06
    few, all_ = (
        statistics(a, b, S, 1, resamples=100, all_intervals=which) for which in (False, True)
    )
    assert list(few.side) == list(all_.side)
    assert (few.low[5], few.high[5]) == (all_.low[5], all_.high[5])
    assert np.isnan(few.low[0])
    assert not np.isnan(all_.low).any()


def test_how_many_processes_it_takes_to_find_one_row_among_many() -> None:
    for rows in (1, 40, 400):
        least = least_processes(rows, S.false_discovery_rate)
        for count in (least - 1, least):
            a = np.linspace(1.0, 1.001, rows * count).reshape(count, rows).T * 1e-4
            b = a * 1.00001
            b[0] = a[0] * 2  # every process slower than every other
            found = statistics(a, b, S, 1, resamples=50)
            assert bool(found.side[0] == 1) == (count >= least), (rows, count)


def test_equal_times_are_no_change_and_unequal_ones_without_noise_are() -> None:
    a = np.full((50, 10), 1e-4)
    b = a.copy()
    b[3] *= 1.05
    found = statistics(a, b, S, 1, resamples=50)
    assert list(np.flatnonzero(found.side)) == [3]
    assert found.q[0] == 1


@pytest.fixture
def compare(fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """compare(worlds of A and B, flags...) -> exit code, the Markdown, standard error."""

    def call(a: dict, b: dict, *flags: str) -> tuple[int, str, str]:
        programs = [str(fake(name, **world)) for name, world in (("a", a), ("b", b))]
        code = main(["compare", *programs, "--rounds=5", *flags])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_the_gate_runs_both_in_turns(compare, tmp_path: Path) -> None:
    log = tmp_path / "log"
    world = {"rows": ROWS, "noise": 0.005, "log": str(log)}
    code, out, _ = compare(world, world)
    assert log.read_text() == "ab" * 5
    assert code == 0
    assert "no regression: 0 slower, 0 faster, 3 unchanged of 3 rows" in out


def test_a_slower_program_is_refused(compare, tmp_path: Path) -> None:
    slower = {"rows": ROWS | {"gather/n:4": 3.3e-4}, "noise": 0.005}
    code, out, _ = compare({"rows": ROWS, "noise": 0.005}, slower, f"--out={tmp_path / 'table.md'}")
    assert code == 1
    assert "**REGRESSION**: 1 slower, 0 faster, 2 unchanged" in out
    name, a, b, ratio, *_, verdict = (cell.strip() for cell in out.splitlines()[6].split("|")[1:-1])
    assert (name, verdict) == ("`gather/n:4`", "**slower**")
    # Each process is off by 0.5 % at most; the table has four digits of a time, a tenth of a %.
    for cell, seconds in ((a, 300), (b, 330)):
        value, unit = cell.split()
        assert (float(value), unit) == (pytest.approx(seconds, rel=0.006), "µs")
    assert float(ratio.removesuffix("%")) == pytest.approx(10, abs=1.2)
    assert (tmp_path / "table.md").read_text() == out


def test_rows_that_the_new_program_fails_or_lacks(compare) -> None:
    left = {name: seconds for name, seconds in ROWS.items() if name != "gather/n:4"}
    code, out, _ = compare({"rows": ROWS}, {"rows": left, "failed": {"gather/n:4": "wrong sum"}})
    assert code == 1
    assert "- gather/n:4: failed: wrong sum" in out
    code, out, _ = compare({"rows": ROWS}, {"rows": left})
    assert code == 2
    assert "- gather/n:4: B has no sound time" in out


@pytest.mark.filterwarnings("error")
def test_programs_without_a_common_row_are_not_judged(compare) -> None:
    code, out, _ = compare({"rows": {"k/a": 1e-3}}, {"rows": {"k/b": 1e-3}})
    assert code == 2
    assert "the two have no row in common that could be judged" in out


def test_what_a_program_says_is_no_markup_in_the_pull_request(compare) -> None:
    image = "![x](http://e.example/i.png)"
    rows = ROWS | {f"a/{image}/@octocat/n:1": 1e-4}
    failed = {"gather/n:4": f"{image} @octocat\n# heading"}
    _, out, _ = compare({"rows": rows}, {"rows": rows, "failed": failed})
    assert f"| `a/{image}/@octocat/n:1` |" in out  # code is nothing but text
    assert out.count(image) == 1
    assert out.count("@octocat") == 1
    assert "\n# heading" not in out


def test_a_gate_that_could_find_nothing_does_not_pass_anything(compare) -> None:
    slow = {"rows": {name: 2 * seconds for name, seconds in ROWS.items()}}
    code, _, err = compare({"rows": ROWS}, slow, "--rounds=3")
    assert (code, "3 are too few to find anything: at least 4" in err) == (2, True)
    # Enough for a few rows, not for many.
    rows = {f"a/b/n:{n}": 1e-4 * (1 + n / 100) for n in range(100)}
    world = {"rows": rows, "noise": 0.003}
    code, out, _ = compare(world, world, "--rounds=4")
    assert code == 2
    assert "- 100 of 100 rows have sound times of fewer than 8 processes" in out


def test_one_throttled_row_does_not_blind_the_others(compare, tmp_path: Path) -> None:
    def read(number: int, seconds: float, throttled: bool) -> ProcessFile:
        path = tmp_path / f"{number}.json"
        rows = {"a/b/n:1": seconds, "a/c/n:1": {"seconds": 1e-4, "throttled": int(throttled)}}
        path.write_bytes(process_file(rows))
        return read_process(path)

    gate = Gate(S, "cuda", (), False, 1, print)
    a = [read(n, 1e-4 + n * 1e-8, throttled=n > 3) for n in range(1, 11)]
    b = [read(n, 1.1e-4 + n * 1e-8, throttled=False) for n in range(1, 11)]
    assert gate.judge(a, b).slower() == ["a/b/n:1"]
    quiet = gate.judge(a, a)
    assert quiet.exit_code == 2
    assert quiet.notes[0].startswith("1 of 2 rows have sound times of fewer than 5 processes")
    some = [read(n, 1e-4 + n * 1e-8, throttled=n > 7) for n in range(1, 11)]
    (note,) = gate.judge(some, b).notes
    assert note.startswith("a/c/n:1 has sound times of 7 processes only")


def test_a_program_that_is_built_anew_meanwhile_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "one.json"

    def read(commit: str) -> ProcessFile:
        path.write_bytes(process_file(ROWS, git_commit=commit))
        return read_process(path)

    gate = Gate(S, "cuda", (), False, 1, print)
    old, new = [read("aaaa")] * 5, [read("bbbb")] * 5
    assert gate.judge(old, new).exit_code == 0
    with pytest.raises(CannotJudgeError, match="B: was changed while it was being measured"):
        gate.judge(old, [*new[:3], *old[:2]])


def test_the_gate_takes_its_figures_from_the_store(compare, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("gate_floor = 0.5\n")
    slow = {"rows": ROWS | {"gather/n:4": 3.6e-4}, "noise": 0.003}
    fast = {"rows": ROWS, "noise": 0.003}
    assert compare(fast, slow, f"--store={tmp_path}")[0] == 0
    assert compare(fast, slow, f"--store={tmp_path}", "--floor=0.02")[0] == 1


def test_the_gate_refuses_an_unfit_machine(compare, tmp_path: Path, monkeypatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '580, 40, 1980, 90.5, 70, 0, 0x0'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    code, _, err = compare({"rows": ROWS}, {"rows": ROWS})
    assert (code, "70% busy with something else" in err) == (2, True)


def test_the_gate_says_why_it_cannot_judge(compare, tmp_path: Path) -> None:
    code, _, err = compare({"rows": ROWS}, {"rows": ROWS, "gpu": False})
    assert (code, "no such GPU" in err) == (2, True)
    code, _, err = compare({"rows": ROWS}, {"rows": ROWS, "device_kind": "model"})
    assert (code, "is modelled" in err) == (2, True)
    code, _, err = compare({"rows": ROWS}, {"rows": ROWS, "context": {"device": "other"}})
    assert (code, "differ in device" in err) == (2, True)
    code, _, err = compare({"rows": ROWS}, {"rows": ROWS}, "--device=model:h200-sxm")
    assert (code, "modelled nights are no nights" in err) == (2, True)


# Which commits do not build, which fail the slow row, and which slow another one down.
@pytest.fixture(params=[((), ()), ((3,), ()), ((), (3,))])
def repository(
    tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[Path, list[str], tuple[int, ...]]:
    """Six commits of a program that gets slower in the fourth, and which cannot be tried."""
    broken, failing, *later = request.param
    folder = tmp_path / "repository"
    folder.mkdir()
    git = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=n",
        "-c",
        "user.email=e@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run([*git, "init", "--quiet"], check=True)
    commits = []
    for number, seconds in enumerate((1.0e-4, 1.01e-4, 1.0e-4, 1.1e-4, 1.1e-4, 1.11e-4), start=1):
        rows = {"a/b/n:1": seconds, "a/c/n:1": 2e-4, "a/d/n:1": 2e-4 if number in later else 1e-4}
        world = {"commit": number, "rows": rows, "noise": 0.004}
        world |= {"failed": {"a/b/n:1": "wrong sum"}} if number in failing else {}
        (folder / "world.json").write_text(json.dumps(world))
        build = "exit 1" if number in broken else "cp world.json gpubench.json; cp program gpubench"
        (folder / "build.sh").write_text(f"echo cannot build >&2\n{build}\n")
        (folder / "program").write_text(f"#!{sys.executable} -IS\n{FAKE.read_text()}")
        (folder / "program").chmod(0o755)
        subprocess.run([*git, "add", "."], check=True)
        subject = f"change {number} \033]0;title\007"
        subprocess.run([*git, "commit", "--quiet", "-m", subject], check=True)
        done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        commits.append(done.stdout.strip())
    return folder, commits, (*broken, *failing)


def bisect(repository: Path, good: str, bad: str) -> int:
    return main(
        [
            "bisect",
            f"--good={good}",
            f"--bad={bad}",
            f"--repository={repository}",
            "--build=bash build.sh",
            "--built=gpubench",
            "--rounds=5",
        ]
    )


def test_bisection_finds_the_commit(repository, capsys) -> None:
    folder, commits, untried = repository
    assert bisect(folder, commits[0], commits[5]) == 1
    captured = capsys.readouterr()
    if not untried:
        assert captured.out.startswith(f"first bad commit: {commits[3][:7]}")
        assert "change 4 \ufffd]0;title\ufffd (n, " in captured.out
    else:  # the third could not be tried, so that it may have been that one already
        assert captured.out.startswith(f"one of {commits[2][:12]} or {commits[3][:12]}")
    assert "slower: a/b/n:1" in captured.out
    assert "a/c" not in captured.out
    listed = subprocess.run(
        ["git", "-C", str(folder), "worktree", "list"], capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1  # nothing is left behind
    done = subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


@pytest.mark.parametrize("repository", [((), (), 5, 6)], indirect=True)
def test_bisection_tells_rows_that_a_later_commit_slowed(repository, capsys) -> None:
    folder, commits, _ = repository
    assert bisect(folder, commits[0], commits[5]) == 1
    found = [line.strip() for line in capsys.readouterr().out.splitlines()[1:]]
    assert sorted(found) == ["slower only later: a/d/n:1", "slower: a/b/n:1"]


def test_bisection_tells_a_row_that_failed_at_the_first_bad_commit(capsys) -> None:
    class Result:
        problems = ()

        def __init__(self, slower, failed=""):
            self.slower, self.why_not_judged = lambda: slower, lambda name: failed

    class Gate:
        def compare(self, a, b):
            return Result(["a", "b"]) if b == "3" else Result(["a"], "failed: wrong sum")

    class Trees:
        program, title = staticmethod(str), staticmethod(str)

    assert _search(Gate(), Trees(), ["1", "2", "3"], lambda line: None) == 1
    assert capsys.readouterr().out.splitlines() == [
        "first bad commit: 2",
        "  slower: a",
        "  not judged there: b: failed: wrong sum",
    ]


@pytest.mark.parametrize("repository", [((), (6,))], indirect=True)
def test_bisection_says_that_the_end_could_not_be_judged(repository, capsys) -> None:
    folder, commits, _ = repository
    assert bisect(folder, commits[0], commits[5]) == 2
    said = "is not slower than {}, but could not be judged wholly: a/b/n:1: failed: wrong sum"
    assert said.format(commits[0][:12]) in capsys.readouterr().err


@pytest.mark.parametrize("repository", [((), ())], indirect=True)
def test_bisection_where_there_is_nothing_to_find(repository, capsys) -> None:
    folder, commits, _ = repository
    for good, bad, why in (
        (commits[3], commits[5], "is not slower than"),  # both are slow already
        (commits[0], commits[0], "are the same commit"),
        ("nowhere", commits[5], "nowhere: is no commit, tag or branch in "),
        ("--all", commits[5], "--all: is no commit, tag or branch in "),
        (commits[5], commits[0], "is no ancestor of"),
    ):
        assert bisect(folder, good, bad) == 2
        error = capsys.readouterr().err
        assert why in error
        assert "fatal" not in error
