"""The program itself: flags, result files, and what it says when something is wrong."""

from __future__ import annotations

import csv
import json
import re
import resource
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD, ROOT, rows_of, run

ONE_ROW = "--benchmark_filter=^coalescing/strided_read/stride:1$"


def test_a_machine_without_a_gpu_says_so_loudly() -> None:
    done = run(ONE_ROW)
    if "no CUDA" not in done.stderr:
        pytest.skip("this machine has a GPU")
    assert "MODELLED for h200-sxm, not measured" in done.stderr


@pytest.mark.parametrize(
    ("flag", "status"),
    [
        ("--device=nope", 2),
        ("--device", 2),
        ("--suite=nope", 2),
        ("--nope", 2),
        ("--benchmark_filter=^nope/", 2),
        ("--benchmark_out=/nope/x.json", 2),
        ("--list_devices", 0),
        ("--help", 0),
        ("--version", 0),
        ("--benchmark_list_tests", 0),
    ],
)
def test_what_runs_nothing_says_nothing_of_models(flag: str, status: int) -> None:
    done = run(flag)
    assert (done.returncode, done.stderr.count("\n")) == (status, status // 2), done.stderr
    assert "MODELLED" not in done.stderr


def test_the_model_refuses_to_measure_energy(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    done = run("--device=model:h200-sxm", ONE_ROW, "--energy", f"--benchmark_out={out}")
    assert done.returncode == 2
    assert done.stderr == "gpubench: --energy needs a GPU: the model knows no energy\n"
    assert not out.exists()


def test_no_modelled_row_has_joules() -> None:
    [row] = rows_of("--device=model:h200-sxm", ONE_ROW).values()
    assert not [key for key in row if "joules" in key or "energy" in key or key.endswith("_w")]


def test_too_small_a_limit_of_memory_is_one_clear_line() -> None:
    limit = 2_000_000 * 1024  # as of ulimit -v
    done = subprocess.run(
        [str(BUILD / "gpubench"), "--device=model:h200-sxm", ONE_ROW],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 1
    [complaint] = done.stderr.splitlines()
    assert complaint.startswith("gpubench: not enough memory: ")
    assert "ulimit -v" in complaint


def test_too_little_stack_is_one_clear_line() -> None:
    command = [str(BUILD / "gpubench"), "--device=model:h200-sxm", ONE_ROW]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -s 64; exec "$@"', "bash", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    [complaint] = done.stderr.splitlines()
    assert "the stack may take only 64 KiB" in complaint


def test_seconds_may_have_their_unit() -> None:
    done = run("--device=model:h200-sxm", ONE_ROW, "--benchmark_min_time=0.25s")
    assert done.returncode == 0


def test_a_number_of_samples_is_taken_whatever_the_interval(tmp_path: Path) -> None:
    # On a device whose times vary; 7 are too few for the rule that stops by the interval.
    noisy = f"--conditions={ROOT}/tests/data/conditions/timing-heavy-tail.json"
    for samples in (7, 150):
        out = tmp_path / f"{samples}.json"
        flags = (f"--benchmark_min_time={samples}x", f"--benchmark_out={out}")
        assert run("--device=model:h200-sxm", ONE_ROW, noisy, *flags).returncode == 0
        [row] = json.loads(out.read_text())["benchmarks"]
        assert row["samples"] == samples


def test_result_file(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    assert run("--device=model:h200-sxm", ONE_ROW, f"--benchmark_out={out}").returncode == 0
    file = json.loads(out.read_text())
    context, [row] = file["context"], file["benchmarks"]
    assert context["device_kind"] == "model"
    assert context["device"] == "h200-sxm"
    assert {roof["name"] for roof in context["roofs"]} >= {"dram", "l2", "fp32", "fp64"}
    assert row["name"] == row["run_name"] == "coalescing/strided_read/stride:1"
    assert row["arguments"] == {"stride": 1}
    assert row["model_seconds"] == pytest.approx(row["real_time"] * 1e-6)
    samples = json.loads((tmp_path / "run.samples.jsonl").read_text())
    assert len(samples["seconds"]) == row["samples"]
    assert (samples["device_kind"], samples["device"]) == ("model", "h200-sxm")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.json", "run.samples.jsonl"]


def test_a_row_says_what_its_counts_are_worth_and_what_occupancy_assumes(tmp_path: Path) -> None:
    [row] = rows_of("--device=model:h200-sxm", ONE_ROW).values()
    assert row["counts"] == "exact"
    assert "assuming" not in row
    # A device for whose architecture nothing was compiled.
    device = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text())
    device["compute_capability"] = [8, 7]
    file = tmp_path / "h200-sxm.json"
    file.write_text(json.dumps(device))
    [row] = rows_of(f"--device=model:{file}", ONE_ROW).values()
    assert "counts" not in row
    assert row["assuming"] == "no register limit"


def test_two_runs_of_the_model_agree_exactly() -> None:
    flags = ("--device=model:h200-sxm", "--benchmark_filter=^coalescing/gather/window:16777216$")
    first, second = rows_of(*flags), rows_of(*flags)
    assert first == second


def test_whole_grids_count_what_samples_say() -> None:
    name = "coalescing/vector_read/bytes:16"
    flags = ("--device=model:h200-sxm", f"--benchmark_filter=^{name}$")
    sampled = rows_of(*flags)[name]
    whole = rows_of(*flags, "--whole_grids")[name]
    assert (sampled["verified"], whole["verified"]) == ("sampled", "full")
    assert whole["sectors_per_request"] == sampled["sectors_per_request"]


def test_a_row_that_events_cannot_time_is_skipped(tmp_path: Path) -> None:
    conditions, out = tmp_path / "coarse.json", tmp_path / "run.json"
    timing = {"seed": 1, "event_tick_seconds": 1e-5, "noise": {"sigma": 0.001}}
    conditions.write_text(json.dumps({"about": "coarse events", "timing": timing}))
    short = "launch_overhead/empty_row/by:(stream|graph)/launches:1"
    done = run(
        "--device=model:h200-sxm",
        f"--conditions={conditions}",
        f"--benchmark_filter=^({short}|coalescing/strided_read/stride:1)$",
        f"--benchmark_out={out}",
    )
    assert done.returncode == 0
    rows = {row["name"]: row for row in json.loads(out.read_text())["benchmarks"]}
    assert rows["coalescing/strided_read/stride:1"]["real_time"] > 0
    skipped = [row["skip_reason"] for row in rows.values() if row.get("skipped")]
    assert "is shorter than this device's event timer can resolve" in skipped
    times = {"min_seconds", "ci_low_seconds", "ci_high_seconds"}
    assert all(row[key] > 0 for row in rows.values() for key in times & row.keys())


def test_time_unit_and_context() -> None:
    done = run(
        "--device=model:h200-sxm",
        ONE_ROW,
        "--benchmark_format=json",
        "--benchmark_time_unit=ms",
        "--benchmark_context=rack=7,owner=lab",
    )
    file = json.loads(done.stdout)
    assert (file["context"]["rack"], file["context"]["owner"]) == ("7", "lab")
    [row] = file["benchmarks"]
    assert row["time_unit"] == "ms"
    assert row["real_time"] == pytest.approx(row["model_seconds"] * 1e3)


def test_explain_shows_the_lanes_of_one_row(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    name = "coalescing/strided_read/stride:4"
    done = run("--device=model:h200-sxm", f"--explain={name}", f"--benchmark_out={out}")
    assert done.returncode == 0, done.stderr
    assert "coalescing::strided_read: warp 0 of block (0,0,0)" in done.stdout
    assert "16 sectors per request, 4 times the minimum of 4" in done.stdout
    lines = [line for line in done.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 100
    assert [row["name"] for row in json.loads(out.read_text())["benchmarks"]] == [name]
    document = json.loads((tmp_path / "run.explain.json").read_text())
    assert document["context"] == json.loads(out.read_text())["context"]
    (explained,) = document["explanations"]
    load = explained["accesses"][0]
    assert (explained["name"], load["sectors_per_request"]) == (name, 16)
    assert [lane["offset"] for lane in load["lanes"]] == [16 * lane for lane in range(32)]


def test_csv_has_a_cell_for_every_column() -> None:
    done = run(
        "--device=model:h200-sxm",
        "--benchmark_filter=^coalescing/vector",
        "--benchmark_format=csv",
        "--benchmark_repetitions=2",
    )
    header, *lines = csv.reader(done.stdout.splitlines())
    assert len(lines) == 3 * (2 + 4)
    assert {len(line) for line in lines} == {len(header)}
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert {row["device_kind"] for row in rows} == {"model"}
    assert {row["device"] for row in rows} == {"h200-sxm"}
    assert {row["verified"] for row in rows if row["label"]} == {"sampled"}
    assert {row["repetition_index"] for row in rows} == {"0", "1", ""}


def test_help_version_and_devices_read_well() -> None:
    assert "--benchmark_filter" in run("--help").stdout
    assert re.fullmatch(
        r"gpubench \d+\.\d+\.\d+, commit \w+( \(modified\))?, GNU .*\nfrom: +a .*\n(.+\n)+",
        run("--version").stdout,
    )
    devices = run("--list_devices").stdout
    for name in ("h200-sxm", "a100-40-sxm", "b200", "gb300", "rtx-4090", "rtx-pro-6000"):
        assert f"  model:{name} " in devices
    for name in ("mi355x", "tpu-v7", "cs-2", "groq-lpu", "gaudi3", "trainium2"):
        assert f"  {name} " in devices
        assert f"model:{name}" not in devices
    assert max(len(line) for line in devices.splitlines()) <= 100
    assert len(devices.splitlines()) <= 40  # one screen


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--device=model:h300"], "h300"),
        (["--device=model:mi300x"], "data-sheet roof only"),
        (["--device=tpu"], "tpu"),
        (["--device=model:"], "model:"),
        (["--benchmark_filter=^nothing$"], "^nothing$"),
        (["--benchmark_filter=("], "("),
        (["--benchmark_filter=((((a{1,100}){1,100}){1,100}){1,100})"], "its repeats {}"),
        (["--benchmark_filter=" + "(" * 25 + "a" + "+)" * 25], "its repeats {} and +"),
        (["--benchmark_filter=" + "(" * 60_000], "nested too deeply"),
        ([r"--benchmark_filter=(.*)(.*)(.*)(.*)\1\2\3\4x"], "refers back"),
        (["--frobnicate"], "--frobnicate"),
        (["--benchmark_frobnicate=1"], "--benchmark_frobnicate"),
        (["--suite=huge"], "huge"),
        (["--explain=coalescing/nothing"], "coalescing/nothing"),
        (["--explain"], "--explain=NAME"),
        (
            ["--explain=coalescing/strided_read/stride:1", "--benchmark_filter=x"],
            "--benchmark_filter",
        ),
        (["--trace=/tmp/x.json", "--benchmark_out=/tmp/x.json"], "--trace='/tmp/x.json'"),
        (["--trace=/tmp/x.samples.jsonl", "--benchmark_out=/tmp/x.json"], "x.samples.jsonl"),
        (["--benchmark_min_time=-1"], "-1"),
        (["--benchmark_repetitions=0"], "--benchmark_repetitions='0'"),
        (["--benchmark_repetitions=1001"], "'1001': must be from 1 to 1000"),
        (["--benchmark_time_unit=hours"], "hours"),
        (["--benchmark_context=rack"], "rack"),
        (["--benchmark_context=a=b,c=d,a=e"], "'a' is given twice"),
        (["--benchmark_context=device=x"], "'device'"),
        (["--benchmark_context=roofs=x"], "'roofs'"),
        (["--benchmark_context=device_state=x"], "'device_state'"),
        (["--benchmark_context=imported_from=x"], "'imported_from'"),
        (["--benchmark_context=filter=x"], "'filter'"),
        (["--benchmark_context=run_seconds=5"], "'run_seconds'"),
        (["--benchmark_color=pink"], "--benchmark_color"),
        (["--benchmark_min_time=0x"], "must be >= 1x"),
        (["--benchmark_min_time=-1x"], "-1"),
        (["--benchmark_min_time=1.5x"], "1.5"),
        (["--benchmark_min_time=10sx"], "10sx"),
        (["--benchmark_min_time=1ms"], "'1ms': must be a number >= 0"),
        (["--seed=99999999999999999999"], "'99999999999999999999': is out of range"),
        (["--axis=coalescing/strided_read/stride=3", "--roofs"], "--axis"),
        (["--benchmark_perf_counters=CYCLES"], "--benchmark_perf_counters"),
        (["--benchmark_out="], "--benchmark_out=FILE: needs the name of a file to write"),
        (["--benchmark_out=/nonexistent/run.json"], "/nonexistent/run.json"),
    ],
)
def test_bad_input_is_one_clear_line(flags: list[str], named: str) -> None:
    done = (
        run(*flags) if flags[0].startswith("--device") else run("--device=model:h200-sxm", *flags)
    )
    assert done.returncode != 0
    complaint = [line for line in done.stderr.splitlines() if named in line]
    assert len(complaint) == 1, done.stderr
    assert complaint[0].startswith("gpubench: ")


@pytest.mark.parametrize("device", ["h300", "h20", "mi30"])
def test_only_devices_that_can_run_are_suggested(device: str) -> None:
    said = run(f"--device=model:{device}", ONE_ROW).stderr
    assert "h200-sxm" in said
    assert not re.search("mi300x|tpu-v4|cs-2|groq-lpu", said)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_without_the_program_for_gpus_it_is_said_how_to_build_it(device: str) -> None:
    if (BUILD / "gpubench-cuda").exists():
        pytest.skip("it is built here")
    done = run(f"--device={device}", ONE_ROW)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert f"--device={device}" in line
    assert "cmake --preset release && cmake --build --preset release" in line


@pytest.mark.parametrize("value", ["-1", "null", '"fast"'])
def test_a_device_file_that_lies(tmp_path: Path, value: str) -> None:
    lie = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text())
    lie["name"] = "liar"
    lie["figures"]["sm_count"]["value"] = json.loads(value)
    file = tmp_path / "liar.json"
    file.write_text(json.dumps(lie))
    done = run(f"--device=model:{file}", ONE_ROW)
    assert done.returncode != 0
    assert "sm_count" in done.stderr
    assert "liar.json" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_users_own_device(tmp_path: Path) -> None:
    own = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text())
    own["name"] = "half"
    own["figures"]["dram_bytes_per_second"]["value"] /= 2
    file = tmp_path / "half.json"
    file.write_text(json.dumps(own))
    [ours] = rows_of("--device=model:h200-sxm", ONE_ROW).values()
    [half] = rows_of(f"--device=model:{file}", ONE_ROW).values()
    assert half["real_time"] / ours["real_time"] == pytest.approx(2, rel=0.15)


def test_a_users_own_device_is_told_from_the_shipped_one_of_its_name(tmp_path: Path) -> None:
    own = json.loads((ROOT / "harness/devices/h200-sxm.json").read_text())
    file, out = tmp_path / "h200-sxm.json", tmp_path / "run.json"
    for factor, is_own in ((1, False), (2, True)):
        own["figures"]["dram_bytes_per_second"]["value"] *= factor
        file.write_text(json.dumps(own))
        ran = run(f"--device=model:{file}", ONE_ROW, f"--benchmark_out={out}")
        assert ran.returncode == 0, ran.stderr
        context = json.loads(out.read_text())["context"]
        assert context.get("own_device_file", False) is is_own
        said = "come from a custom device file called h200-sxm"
        assert any(said in caveat for caveat in context.get("caveats", [])) is is_own
        assert (said in ran.stdout + ran.stderr) is is_own


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--benchmark_filtr=x", "--benchmark_filter"),
        ("--sute=quick", "--suite"),
        ("--terns", "--terms"),
        ("--nonsense_that_is_far_from_all=1", None),
    ],
)
def test_a_mistyped_flag_is_guessed(flag: str, meant: str | None) -> None:
    done = run(flag)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"gpubench: unknown flag '{flag}'")
    assert (f"did you mean {meant}?" in line) == (meant is not None)
    assert ("did you mean" in line) == (meant is not None)
