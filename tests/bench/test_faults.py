"""Rows that break: each costs itself and no other row, and says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import BUILD, run
from .faulty import DEVICE, PROGRAM, rows_in, run_faulty
from .test_helpers import children_of
from .test_survival import MODEL, content, valid

# How a row of concept `faulty` must fail: the kind, and words of its message or diagnosis.
DEVICE_FAULTS = {
    "out_of_bounds": ("illegal_access", "out of bounds: 4-byte store at byte 8192", "faulty.cuh:"),
    "null_pointer": ("illegal_access", "4-byte store at host address", "faulty.cuh:"),
    "misaligned": ("illegal_access", "misaligned 4-byte store", "faulty.cuh:"),
    "shared_out_of_bounds": ("illegal_access", "out of bounds: index 256 of", "faulty.cuh:"),
    "race": ("launch_failure", "race", "faulty.cuh:"),
    "two_barriers": ("launch_failure", "waits at the barrier", "faulty.cuh:"),
    "shifts_too_far": ("launch_failure", "shift by 32 bits", "faulty.cuh:"),
    "throws": ("launch_failure", "exception (not in a kernel) thrown", "thread (0,0,0)"),
    "throws_a_number": ("illegal_access", "no device memory", "faulty.cuh:"),
}
CRASHES = {
    "traps": ("ended by signal 4", "faulty.cuh:"),
    "aborts": ("ended by signal 6", "faulty.cuh:71"),
    "divides_by_zero": ("ended by signal 8", "(an integer divided by 0, or the least one by -1)"),
    "exits": ("ended with exit code 0", ""),
    "host_fault": ("ended by signal 11", "faulty.cu:"),
    "host_exits": ("ended with exit code 0", ""),
    "host_is_killed": ("ended by signal 9", ""),
}
OWN_MISTAKES = {
    "host_throws": ("exception", "the bench file's own mistake"),
    "host_throws_a_number": ("exception", "what is no std::exception"),
    "host_bad_alloc": ("out_of_memory", "the host's memory ran out"),
    "never_runs": ("exception", "never called run()"),
    "verifies_nothing": ("exception", "verifies nothing"),
    "wrong_launch": ("cuda_error", "invalid configuration argument"),
    "wrong_free": ("cuda_error", "invalid argument"),
}
UNTRUE = {
    "returns_early": "expected",
    "returns_at_once": "wrote 0 of",
    "writes_nan": "element 100 is nan",
    "writes_infinity": "element 100 is inf",
    "forgets_one": "element 2041 is",
    "is_off_by_one": "element 2047 is",
    "large_returns_early": "element 256 is",
    "large_returns_at_once": "wrote 0 of",
    "optimised_away": "useful bytes, and its kernels ask for",
    "claims_fewer_moved_bytes": "useful bytes, more than the",
    "claims_more_useful_bytes": "useful bytes, and its kernels ask for",
    "claims_nan": "useful_bytes = nan",
    "claims_negative_bytes": "useful_bytes = -1",
}
SOUND = [f"sound_first/n:{i}" for i in (1, 2, 3)]
SOUND += [f"sound_between/n:{i}" for i in (1, 2)] + [f"sound_last/n:{i}" for i in (1, 2, 3)]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    """All rows but those that a limit has to end, and what the run said on standard error."""
    out = tmp_path_factory.mktemp("broken") / "run.json"
    endless = "endless|endless_loads|host_endless|host_hoards|recurses"
    done = subprocess.run(
        [
            str(PROGRAM),
            DEVICE,
            f"--benchmark_filter=-^faulty/({endless})$",
            f"--benchmark_out={out}",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    valid(out)
    assert sorted(p.name for p in out.parent.iterdir()) == ["run.json", "run.samples.jsonl"]
    shown = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("faulty/")]
    names = list(rows_in(out))
    assert [name.removeprefix("faulty/") for name in shown] == names, "each once, in order"
    return rows_in(out), done.stderr


def test_sound_rows_are_those_of_a_run_without_faults(
    broken: tuple[dict[str, dict[str, Any]], str], tmp_path: Path
) -> None:
    rows, _ = broken
    out = tmp_path / "sound.json"
    assert run_faulty("sound_first|sound_between|sound_last", out).returncode == 0
    undisturbed = rows_in(out)
    assert list(undisturbed) == SOUND
    indices = ("family_index", "per_family_instance_index")
    for name in SOUND:
        for key in undisturbed[name].keys() - set(indices):
            assert rows[name][key] == undisturbed[name][key], (name, key)


@pytest.mark.parametrize("name", DEVICE_FAULTS)
def test_a_fault_of_a_kernel_says_who_and_where(
    name: str, broken: tuple[dict[str, dict[str, Any]], str]
) -> None:
    kind, what, where = DEVICE_FAULTS[name]
    row = broken[0][name]
    assert row["error_kind"] == kind
    assert what in row["diagnosis"]
    assert where in row["diagnosis"]
    assert f"faulty::{name}" in row["diagnosis"]


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_costs_its_row_and_says_where(
    name: str, broken: tuple[dict[str, dict[str, Any]], str]
) -> None:
    how, where = CRASHES[name]
    row = broken[0][name]
    assert row["error_kind"] == "crash"
    assert how in row["error_message"]
    assert where in row.get("diagnosis", "")
    assert f"gpubench: faulty/{name}" in broken[1]


def test_a_stack_that_overruns_is_said_to(broken: tuple[dict[str, dict[str, Any]], str]) -> None:
    row = broken[0]["large_stack"]
    assert row["error_occurred"]
    assert row["error_kind"] in ("launch_failure", "crash")
    assert "672 KB" in row["diagnosis"]


@pytest.mark.parametrize("name", OWN_MISTAKES)
def test_a_mistake_of_the_bench_file_is_typed(
    name: str, broken: tuple[dict[str, dict[str, Any]], str]
) -> None:
    kind, words = OWN_MISTAKES[name]
    row = broken[0][name]
    assert row["error_kind"] == kind
    assert words in row["error_message"]


def test_too_little_device_memory_is_a_skip_with_what_is_free(
    broken: tuple[dict[str, dict[str, Any]], str],
) -> None:
    row = broken[0]["too_much_device_memory"]
    assert "bytes free" in row["skip_reason"]


@pytest.mark.parametrize("name", UNTRUE)
def test_a_number_that_is_not_true_is_no_number(
    name: str, broken: tuple[dict[str, dict[str, Any]], str]
) -> None:
    row = broken[0][name]
    assert "real_time" not in row
    assert row["error_kind"] in ("wrong_result", "exception")
    assert UNTRUE[name] in row["error_message"]


def test_a_law_or_a_count_that_is_off_by_two_is_not_as_expected(tmp_path: Path) -> None:
    done = run_faulty("claims_.*", None)
    graded = {
        line.split()[0].removeprefix("faulty/"): line
        for line in done.stdout.splitlines()
        if line.startswith("faulty/claims_")
    }
    assert "as expected" in graded["claims_truth"]
    assert "low" in graded["claims_twice_the_law"]
    assert "suspiciously high" in graded["claims_half_the_law"]
    assert "FAILED: its work has flops" in graded["claims_endless_flops"]


def test_after_three_rows_of_a_kernel_the_others_are_not_tried(
    broken: tuple[dict[str, dict[str, Any]], str],
) -> None:
    rows = [broken[0][f"always/n:{i}"] for i in range(1, 6)]
    assert [row.get("error_kind") for row in rows] == ["crash"] * 3 + [None] * 2
    for row in rows[3:]:
        assert row["skip_reason"].startswith("not run: 3 rows of faulty/always have broken")


@pytest.mark.parametrize(
    ("row", "limit", "kind", "why"),
    [
        ("endless", "--row_limit=0.5", "timeout", "did not finish in 0.5 s"),
        ("host_endless", "--row_limit=0.5", "timeout", "did not finish in 0.5 s"),
        ("host_hoards", "--row_memory=400000000", "out_of_memory", "of the host's memory"),
        ("endless_loads", "--row_limit=0.5", "timeout", "did not finish in 0.5 s"),
    ],
)
def test_a_limit_costs_the_row_that_passes_it(
    tmp_path: Path, row: str, limit: str, kind: str, why: str
) -> None:
    out = tmp_path / "run.json"
    done = run_faulty(f"{row}|sound_last", out, limit)
    assert done.returncode == 1
    rows = rows_in(out)
    assert rows[row]["error_kind"] == kind
    assert why in rows[row]["error_message"]
    assert all(rows[name]["real_time"] > 0 for name in SOUND[-3:])


def test_a_fault_in_the_last_row_leaves_nothing_to_resume(tmp_path: Path) -> None:
    for row in ("out_of_bounds", "traps"):
        out = tmp_path / row / "run.json"
        out.parent.mkdir()
        done = run_faulty(row, out)
        assert done.returncode == 1
        assert rows_in(out)[row]["error_occurred"]
        assert not out.with_name("run.json.journal").exists()
        assert "for the rest" not in done.stdout


@pytest.mark.parametrize("format_", ["console", "json", "csv"])
def test_without_a_file_the_rest_is_shown_too(format_: str) -> None:
    done = run_faulty("traps|sound_last", None, f"--benchmark_format={format_}")
    assert done.returncode == 1
    assert done.stdout.count("faulty/sound_last/n:3") >= 1
    if format_ == "json":
        rows = json.loads(done.stdout)["benchmarks"]
        assert [row.get("error_kind") for row in rows] == ["crash", None, None, None]


@pytest.mark.parametrize(
    "isolation", ["fault", pytest.param("concept", marks=pytest.mark.release), "row"]
)
def test_results_do_not_depend_on_who_shares_a_process(isolation: str, tmp_path: Path) -> None:
    concepts = "bank_conflicts/strided/bytes:8|coalescing/records|host_sync/never_reading"
    rows = f"--benchmark_filter=^({concepts})"
    files = []
    for how in ("none", isolation):
        files.append(tmp_path / how / "run.json")
        files[-1].parent.mkdir()
        done = run(MODEL, rows, "--suite=quick", f"--isolate={how}", f"--benchmark_out={files[-1]}")
        assert done.returncode == 0, done.stderr
    assert content(files[1]) == content(files[0])


def test_a_row_that_crashes_a_lone_process_is_not_started_again(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    first = run_faulty("traps|sound_last", out, "--isolate=none")
    assert first.returncode == -signal.SIGILL
    done = run_faulty("traps|sound_last", out, "--isolate=none", f"--resume={out}")
    assert done.returncode == 1
    rows = rows_in(out)
    assert rows["traps"]["error_message"] == "the process that ran it crashed"
    assert all(rows[name]["real_time"] > 0 for name in SOUND[-3:])


def test_what_ends_its_process_three_times_without_a_word_is_given_up(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    flags = ("host_is_killed|sound_last", out, "--isolate=none")
    assert run_faulty(*flags).returncode == -signal.SIGKILL
    for _ in range(2):
        assert run_faulty(*flags, f"--resume={out}").returncode == -signal.SIGKILL
    assert run_faulty(*flags, f"--resume={out}").returncode == 1
    assert "started 3 times" in rows_in(out)["host_is_killed"]["error_message"]


def test_a_device_that_is_lost_for_good_leaves_what_was_done(tmp_path: Path) -> None:
    """Every later process fails to open it: what is left is not run, and said to be left."""
    conditions = tmp_path / "lost.json"
    conditions.write_text(
        json.dumps(
            {"failing_call": {"function": "cudaMalloc", "call": 40, "error": 214, "lasting": True}}
        )
    )
    out = tmp_path / "run.json"
    rows = "--benchmark_filter=^bank_conflicts/strided/bytes:4/"
    done = run(MODEL, rows, f"--conditions={conditions}", f"--benchmark_out={out}")
    assert done.returncode == 1
    kinds = [row.get("error_kind") for row in valid(out)["benchmarks"]]
    assert kinds.count("ecc_error") == 3
    assert kinds[0] is None


def test_no_process_outlives_the_one_that_was_started(tmp_path: Path) -> None:
    command = [str(PROGRAM), DEVICE, "--benchmark_filter=host_endless"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        for _ in range(100):
            if children_of(process.pid):
                break
            time.sleep(0.05)
        [child] = children_of(process.pid)
        process.kill()
    for _ in range(100):
        if (
            not Path(f"/proc/{child}").exists()
            or "State:\tZ" in Path(f"/proc/{child}/status").read_text()
        ):
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("it is still there")


def test_a_second_signal_ends_a_row_that_does_not(tmp_path: Path) -> None:
    command = [str(PROGRAM), DEVICE, "--benchmark_filter=^faulty/(sound_first|host_endless)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("faulty/sound_first/n:3"):
            pass
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.6)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == -signal.SIGTERM


def test_signals_that_come_together_are_one_request(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    command = [str(PROGRAM), DEVICE, "--benchmark_filter=sound", f"--benchmark_out={out}"]
    command += ["--benchmark_repetitions=200", "--benchmark_report_aggregates_only"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        for _ in range(200):
            if out.with_name("run.json.journal").exists():
                break
            time.sleep(0.02)
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGTERM)  # as `timeout` and a terminal do
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    document = valid(out)
    assert document["context"]["interrupted"] is True
    assert document["benchmarks"], "there are no aggregates yet that could stand for the rows"


def test_a_profiled_run_stays_in_one_process() -> None:
    done = run(MODEL, "--benchmark_filter=^fusion/", "--profile", "--isolate=row")
    assert done.returncode == 2
    assert done.stderr == "gpubench: --isolate: --profile stays in one process\n"


def test_an_unknown_isolation_is_refused() -> None:
    done = run(MODEL, "--isolate=yes")
    assert done.returncode == 2
    assert "--isolate='yes': must be one of concept, fault, none, row" in done.stderr


def test_conditions_name_the_call_that_fails(tmp_path: Path) -> None:
    conditions = tmp_path / "calls.json"
    conditions.write_text('{"failing_call": {"function": "cudaMalloc", "call": 1, "error": 2}}')
    rows = "--benchmark_filter=^bank_conflicts/strided/bytes:4/"
    done = run(MODEL, rows, f"--conditions={conditions}")
    assert done.returncode == 0
    assert done.stdout.count("skipped: device buffer") == 1
    assert "cudaMalloc fails, as the conditions say" in done.stderr


def call_faults(kernels: str) -> list[dict[str, Any]]:
    """Every call site of these kernels' rows, failed once."""
    command = [str(BUILD / "gpubench-call-faults"), kernels]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, done.stderr.splitlines()[-1:] + done.stdout.splitlines()[-1:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_call_that_fails_costs_its_row_and_no_other() -> None:
    lines = call_faults("^(transfer/copy|all_reduce/all_reduce)$")
    assert len(lines) > 20
    assert {"cudaMalloc", "ncclGroupEnd", "cudaEventCreateWithFlags"} <= {
        line["function"] for line in lines
    }


@pytest.mark.release
def test_every_call_that_fails_costs_its_row_and_no_other() -> None:
    assert len(call_faults("")) > 200
