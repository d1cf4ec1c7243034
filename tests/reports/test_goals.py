"""Which goals a folder of scripts/validate-gpu meets, with folders made by hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.rules import goals

from .factory import make_context, make_document, make_row
from .profiles import metrics_of, ncu_csv

COPY = "stream/copy/dtype:fp32/bytes:16/unroll:4"
GOALS = """
[[goal]]
what = "copy"
of = "rows"
rows = "stream/copy/.*"
value = "row.useful_bytes_per_second"
unit = "B/s"
least = 4.3e12
devices = ["h200-sxm"]

[[goal]]
what = "copy over theirs"
of = "peers"
question = "copy"
unit = "times"
least = 1

[[goal]]
what = "narrow"
of = "agreement"
unit = "fraction"
least = 0.95

[[goal]]
what = "unknown"
of = "counters"
unit = ""
most = 0

[[goal]]
what = "durations"
of = "durations"
unit = "fraction"
most = 0.02

[[goal]]
what = "prediction"
of = "prediction"
unit = "fraction"
most = 0.1

[[goal]]
what = "seconds"
of = "seconds"
unit = "s"
most = 180
"""
FIGURES = {
    "blocks": 8,
    "traced_blocks": 8,
    "threads_per_block": 256,
    "registers": 20,
    "shared_bytes": 0,
    "resident_blocks": 8,
    "occupancy": 1.0,
    "global_load_requests": 64,
}


def copy_row(rate: float, width: float = 0.001, **more: Any) -> dict[str, Any]:
    seconds = 4.3e9 / rate
    return make_row(
        COPY,
        seconds,
        useful_bytes_per_second=rate,
        label="dram",
        ci_low_seconds=seconds * (1 - width),
        ci_high_seconds=seconds * (1 + width),
        **more,
    )


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, name: str, *rows: dict[str, Any], **context: Any) -> None:
        (self.path / name).write_text(json.dumps(make_document(list(rows), **context)))

    def suites(self, *rates: float, width: float = 0.001, **context: Any) -> None:
        for number, rate in enumerate(rates, start=1):
            self.file(f"suite-{number}.json", copy_row(rate, width), **context)

    def profile(self, registers: int = 20, seconds: float = 1e-3) -> None:
        launch = {"kernel": "stream::copy<float>", "times": 1, "figures": FIGURES}
        self.file("counted.json", make_row(COPY, launches=[launch]))
        metrics = metrics_of(FIGURES | {"registers": registers})
        metrics["gpu__time_duration.sum"] = seconds * 1e9
        profile = ncu_csv([(COPY, "void stream::copy<float>(float *)", metrics)])
        (self.path / "profile-stream.csv").write_text(profile)

    def peer(self, ours: float, theirs: float) -> None:
        peers = self.path / "peers"
        peers.mkdir()
        runs = {
            "gpubench-copy-1": make_row(COPY, useful_bytes_per_second=ours),
            "pytorch-1": make_row("pytorch/copy/size:1", useful_bytes_per_second=theirs),
        }
        for key, row in runs.items():
            document = {"context": make_context(), "benchmarks": [row]}
            (peers / f"{key}.json").write_text(json.dumps(document))
        (peers / "seconds.json").write_text(json.dumps(dict.fromkeys(runs, 1.0)))

    def outcome(self, what: str) -> goals.Outcome:
        _, outcomes = goals.hold(self.path, goals.goals_of(GOALS))
        return next(one for one in outcomes if one.goal.what == what)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_median_of_the_runs_counts(folder):
    folder.suites(4.4e12, 4.31e12, 4.0e12)
    found = folder.outcome("copy")
    assert (found.verdict, found.figure, found.text) == ("met", 4.31e12, "4.31 TB/s")
    assert found.words == f"{COPY}; 3 runs"
    folder.suites(4.4e12, 4.29e12, 4.0e12)
    assert folder.outcome("copy").verdict == "missed"


def test_the_best_of_the_rows_counts(folder):
    slow = make_row("stream/copy/n:1", useful_bytes_per_second=1e12)
    folder.file("suite-1.json", slow, copy_row(4.4e12))
    assert folder.outcome("copy").figure == 4.4e12


def test_own_matmul_is_the_fastest_of_the_kernels_for_a_device(folder):
    def row(kernel: str, rate: float) -> dict[str, Any]:
        name = f"gemm_ladder/{kernel}/dtype:bf16/n:4096"
        return make_row(name, 1e-3, flops_per_second=rate)

    rows = [row("tcgen05", 1.5e15), row("tcgen05_pair", 1.6e15), row("library", 1.6e15)]
    folder.file("suite-1.json", *rows)
    [own] = [goal for goal in goals.goals() if goal.what.startswith("own matmul in bf16")]
    [outcome] = goals.hold(folder.path, (own,))[1]
    assert outcome.figure == pytest.approx(1)


def test_rows_that_say_nothing_are_left_out(folder):
    folder.suites(4.4e12, 4.4e12, 4.35e12, 4.35e12, 4.35e12)
    folder.file("suite-1.json", copy_row(4.9e12, 0.1, converged=0.0))
    folder.file("suite-2.json", make_row("fusion/add/n:1", 1e-3))
    _, (found,) = goals.hold(folder.path, goals.goals_of(GOALS)[:1])
    assert (found.verdict, found.figure) == ("met", 4.35e12)
    why = "did not converge: its interval is 20 % of its time"
    assert found.words == f"{COPY}; 3 runs; 2 left out, the first because {COPY} {why}"
    # The other rows of the same run still count.
    unsure = make_row("stream/copy/n:1", useful_bytes_per_second=4.9e12, converged=0.0)
    for number in (1, 2, 3, 4, 5):
        folder.file(f"suite-{number}.json", unsure, copy_row(4.35e12))
    found = folder.outcome("copy")
    assert (found.figure, "5 left out" in found.words) == (4.35e12, True)


def test_a_modelled_folder_shows_nothing_of_silicon(folder):
    folder.suites(4.4e12, 4.4e12, device_kind="model", run_seconds=69.0)
    assert folder.outcome("copy").verdict == "modelled: met"
    reasons = {
        "narrow": "runs of a model agree by construction",
        "seconds": "a model's run takes the host's time, not a GPU's",
    }
    for what, words in reasons.items():
        assert (folder.outcome(what).verdict, folder.outcome(what).words) == ("absent", words)


def test_some_rows_say_nothing_of_the_suite(folder):
    folder.suites(4.4e12, 4.4e12, run_seconds=10.0, filter="^stream/")
    for what in ("narrow", "seconds"):
        found = folder.outcome(what)
        assert (found.verdict, found.words) == ("absent", "only rows of ^stream/ were run")
    assert folder.outcome("copy").verdict == "met"


def test_goals_of_another_device_are_left_out(folder):
    folder.suites(4.4e12, device="a100-80-sxm")
    _, outcomes = goals.hold(folder.path, goals.goals_of(GOALS))
    assert "copy" not in [one.goal.what for one in outcomes]


def test_what_was_not_run_is_absent_with_its_reason(folder):
    folder.file("suite-1.json", make_row("stream/read/n:1", 1e-3), make_row("fusion/add/n:1", 1e-3))
    _, outcomes = goals.hold(folder.path, goals.goals_of(GOALS))
    assert {one.goal.what: one.words for one in outcomes} == {
        "copy": "no row stream/copy/.* in the file",
        "copy over theirs": "no other program was run",
        "narrow": "the suite was run only once",
        "unknown": "there is no counted.json",
        "durations": "there is no hot.json",
        "prediction": "there is no suite-2.json",
        "seconds": "there is no suite-2.json",
    }
    assert {one.verdict for one in outcomes} == {"absent"}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (copy_row(4.4e12, throttled=1.0), "ran throttled"),
        (copy_row(4.4e12, 0.1, converged=0.0), "did not converge: its interval is 20 %"),
        (make_row(COPY, skipped=True, skip_reason="too little memory"), "too little memory"),
        (make_row(COPY, label="dram"), "has no useful_bytes_per_second"),
    ],
)
def test_a_row_that_says_nothing_meets_nothing(folder, row, why):
    folder.file("suite-1.json", row, make_row("fusion/add/n:1", 1e-3))
    found = folder.outcome("copy")
    assert found.verdict == "absent"
    assert why in found.words


@pytest.mark.parametrize(("theirs", "verdict"), [(4.3e12, "met"), (4.5e12, "missed")])
def test_beside_the_best_of_the_others(folder, theirs, verdict):
    folder.suites(4.4e12)
    folder.peer(4.4e12, theirs)
    found = folder.outcome("copy over theirs")
    assert found.verdict == verdict
    assert found.figure == pytest.approx(4.4e12 / theirs)
    assert found.words == f"4.40 TB/s beside {theirs / 1e12:.2f} TB/s of pytorch"


@pytest.mark.parametrize(("width", "verdict"), [(0.004, "met"), (0.006, "missed")])
def test_intervals(folder, width, verdict):
    folder.suites(4.4e12, 4.4e12, width=width)
    assert folder.outcome("narrow").verdict == verdict


def test_counts_that_differ_for_no_known_reason(folder):
    folder.suites(4.4e12)
    folder.profile()
    found = folder.outcome("unknown")
    assert (found.verdict, found.text) == ("met", "0")
    folder.profile(registers=21)
    found = folder.outcome("unknown")
    assert (found.verdict, found.text) == ("missed", "1")
    assert found.words.endswith("agree, 1 differ")


@pytest.mark.parametrize(("seconds", "verdict"), [(0.99e-3, "met"), (0.97e-3, "missed")])
def test_durations(folder, seconds, verdict):
    folder.suites(4.4e12)
    folder.file("hot.json", make_row(COPY, 1e-3), mode="hot")
    folder.profile(seconds=seconds)
    found = folder.outcome("durations")
    assert found.verdict == verdict
    assert found.figure == pytest.approx(abs(1e-3 / seconds - 1))


@pytest.mark.parametrize(("predicted", "verdict"), [(4.7e12, "met"), (5.0e12, "missed")])
def test_predictions_of_rows_that_memory_binds(folder, predicted, verdict):
    folder.suites(4.4e12, 4.4e12)
    fusion = make_row("fusion/add/n:1", 1e-3, label="fp32")  # not held to it
    folder.file("suite-2.json", copy_row(4.4e12), fusion)
    folder.file(
        "predicted.json", copy_row(predicted), make_row("fusion/add/n:1", 2e-3), device_kind="model"
    )
    found = folder.outcome("prediction")
    assert found.verdict == verdict
    assert found.figure == pytest.approx(1 - 4.4 / (predicted / 1e12))


def test_how_long_the_default_suite_takes(folder):
    folder.suites(4.4e12, 4.4e12, run_seconds=179.0)
    assert folder.outcome("seconds").verdict == "met"
    folder.suites(4.4e12, 4.4e12, run_seconds=181.0)
    assert folder.outcome("seconds").verdict == "missed"
    folder.suites(4.4e12, 4.4e12, run_seconds=10.0, suite="quick")
    assert folder.outcome("seconds").words == "this was the quick suite"
    folder.suites(4.4e12, 4.4e12)
    assert folder.outcome("seconds").words == "suite-2.json does not say how long it took"


def test_what_cannot_be_a_goal_is_refused():
    for wrong, words in [
        ('of = "nothing"', "`of` is 'nothing'"),
        ("least = 5e12\nmost = 4e12", "no range"),
        ('value = "row.a / other.b"', "nothing is called 'other'"),
        ('value = "row.("', "is no expression"),
        ('take = "middle"', "`take` is 'middle'"),
        ('question = "copy"', "`question` is 'copy'"),
        ("colour = 1", "colour"),
    ]:
        entry = GOALS.split("[[goal]]")[1]
        key = wrong.split(" ")[0]
        entry = re.sub(rf"^{key} = .*$", "", entry, flags=re.MULTILINE)
        with pytest.raises(ValueError, match=re.escape(words)):
            goals.goals_of(f"[[goal]]{entry}\n{wrong}")


def test_the_goals_that_come_with_it_are_goals():
    assert len(goals.goals()) >= 20


def test_the_command(folder, capsys):
    folder.suites(4.4e12, 4.4e12, 4.4e12)
    assert main(["goals", str(folder.path)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"stream: copy +at least 4.30 TB/s +4.40 TB/s +met", shown)
    assert re.search(r"\d+ met", shown)
    assert main(["goals", str(folder.path), "--markdown"]) == 0
    assert "| stream: copy | at least 4.30 TB/s | 4.40 TB/s | **met** |" in capsys.readouterr().out


def test_the_command_for_other_programs(folder, capsys):
    folder.suites(4.4e12, 4.4e12, 4.4e12, run_seconds=200.0)
    assert main(["goals", str(folder.path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["folder"], found["device"]) == (str(folder.path), "h200-sxm")
    by_goal = {one["goal"]: one for one in found["goals"]}
    assert by_goal["time of the default suite"] == {
        "goal": "time of the default suite",
        "verdict": "missed",
        "modelled": False,
        "figure": 200.0,
        "unit": "s",
        "most": 180,
        "of": "from the first row to the last",
        "why": "",
    }
    absent = by_goal["plateau of L2"]
    assert absent["verdict"] == "absent"
    assert "figure" not in absent
    assert absent["of"] == "no row of memory_hierarchy in the file"
    with pytest.raises(SystemExit):
        main(["goals", str(folder.path), "--json", "--markdown"])


@pytest.mark.parametrize("other", [{"mode": "hot"}, {"device": "h100-sxm"}])
def test_suites_of_two_modes_or_devices_have_no_median(folder, capsys, other):
    folder.suites(4.4e12, 4.4e12)
    folder.file("suite-3.json", copy_row(4.4e12), **other)
    assert main(["goals", str(folder.path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    (key,) = other
    assert "suite-3.json: is no repetition of " in line
    assert f"{key} is {other[key]} here, " in line


def test_bad_folders_are_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    for path, words in [
        (tmp_path / "none", "no such folder"),
        (tmp_path / "file", "not a folder"),
        (tmp_path, "holds no suite-1.json"),
    ]:
        assert main(["goals", str(path)]) == 2
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
    (tmp_path / "suite-1.json").write_text('{"context": {')
    assert main(["goals", str(tmp_path)]) == 2
    assert "truncated" in capsys.readouterr().err
