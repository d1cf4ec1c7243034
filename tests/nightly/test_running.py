"""Nights through the command, on programs that pretend to have a GPU."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.nights.rehearsal import varied_device
from gpubench_reports.nightly.nights.running import CannotJudgeError, NightRun
from gpubench_reports.nightly.store.store import Store

from .conftest import process_file, values
from .nights import ROWS, opened, put_quiet_nights

ROOT = Path(__file__).resolve().parents[2]


def test_a_night_is_fresh_processes_in_random_order(run, fake, tmp_path: Path) -> None:
    code, out, err = run(fake(rows=ROWS))
    assert code == 0
    assert "3 rows in 10 fresh processes, in random order" in err
    assert "OK: nothing open" in out
    assert {(v[1], v[6]) for v in values(opened(tmp_path))} == {(name, 5) for name in ROWS}
    run(fake(rows=ROWS))
    orders = [
        [(unit["concept"], unit["process"]) for unit in night.document("plan.json")["units"]]
        for night in opened(tmp_path).nights("lab")
    ]
    assert sorted(orders[0]) == sorted(orders[1])
    assert len({tuple(orders[0]), tuple(orders[1]), tuple(sorted(orders[0]))}) == 3
    assert (tmp_path / "nights/report.html").exists()


def test_a_slow_night_is_measured_again_and_two_are_a_regression(run, fake, tmp_path) -> None:
    put_quiet_nights(tmp_path)
    slow = ROWS | {"stream/copy/n:1": 2.2e-4}
    code, _, err = run(fake(rows=slow))
    assert code == 0
    assert "1 of 3 rows look suspicious: measured again" in err
    night = opened(tmp_path).nights("lab")[-1]
    again = [path for path in night.results() if path.name.startswith("rerun-")]
    assert len(again) == 5
    for path in again:  # the suspicious row alone
        assert [row["name"] for row in json.loads(path.read_text())["benchmarks"]] == [
            "stream/copy/n:1"
        ]
    code, out, _ = run(
        fake(rows=slow), f"--junit={tmp_path / 'j.xml'}", f"--openmetrics={tmp_path / 'm.txt'}"
    )
    assert code == 1
    assert "REGRESSION: 1" in out
    assert "+10.0 %  stream/copy/n:1" in out
    assert "<failure" in (tmp_path / "j.xml").read_text()
    assert "gpubench_open_regressions" in (tmp_path / "m.txt").read_text()


@pytest.mark.parametrize("processes", [1, 2])
def test_nights_of_few_processes_stay_so_in_an_index_made_anew(
    run, fake, tmp_path, capsys, processes: int
) -> None:
    put_quiet_nights(tmp_path)
    slow = fake(rows=ROWS | {"stream/copy/n:1": 2.2e-4})
    codes = [run(slow, f"--processes={processes}")[0] for _ in range(2)]
    assert codes == [0, 1]
    store = f"--store={tmp_path / 'nights'}"
    assert main(["index", "--rebuild", store]) == 0
    capsys.readouterr()
    assert main(["status", store]) == 1
    assert "+10.0 %  stream/copy/n:1" in capsys.readouterr().out


def test_without_a_gpu_there_is_no_night(run, fake, tmp_path: Path) -> None:
    code, _, err = run(fake(rows=ROWS, gpu=False))
    assert code == 2
    assert "there is no such GPU here" in err
    assert opened(tmp_path).nights("lab") == []
    code, _, err = run(fake(rows=ROWS), "--device=cuda:3")
    assert code == 2
    code, _, err = run(tmp_path / "nowhere")
    assert code == 2
    assert "does not start: No such file" in err


def test_modelled_nights_are_refused(run, fake, tmp_path: Path, capsys) -> None:
    code, _, err = run(fake(rows=ROWS), "--device=model:h200-sxm")
    assert code == 2
    assert "modelled nights are no nights" in err
    assert not (tmp_path / "nights").exists()
    # Nor does a program get past that which says it has a GPU, and models.
    code, _, err = run(fake(rows=ROWS, device_kind="model"))
    assert code == 2
    assert "is modelled, nothing in it was measured" in err
    assert opened(tmp_path).nights("lab")[0].results() == []
    modelled = tmp_path / "model.json"
    fake("model", rows=ROWS, device_kind="model")
    subprocess.run([tmp_path / "model", f"--benchmark_out={modelled}"], check=True)
    assert main(["add", f"--store={tmp_path / 'nights'}", str(modelled)]) == 2
    assert "is modelled" in capsys.readouterr().err


def test_result_files_from_elsewhere_are_one_night(fake, tmp_path: Path, capsys) -> None:
    program = fake(rows=ROWS, noise=0.01)
    files = []
    for number in range(5):
        files.append(str(tmp_path / f"p{number}.json"))
        subprocess.run([program, f"--benchmark_out={files[-1]}"], check=True)
    store = f"--store={tmp_path / 'nights'}"
    assert main(["add", store, *files]) == 0
    assert main(["add", store, *files]) == 0  # the same again is the same night
    assert len(opened(tmp_path).nights("fake-fake")) == 1
    assert main(["add", store, files[0]]) == 0
    assert len(opened(tmp_path).nights("fake-fake")) == 1
    capsys.readouterr()
    subprocess.run([program, f"--benchmark_out={tmp_path / 'new.json'}"], check=True)
    new, copy = tmp_path / "new.json", tmp_path / "copy.json"
    assert main(["add", store, str(new), files[0]]) == 2
    assert capsys.readouterr().err == f"nightly: {files[0]}: is part of a night already\n"
    shutil.copy(new, copy)
    assert main(["add", store, str(new), str(copy)]) == 2
    assert capsys.readouterr().err == f"nightly: {copy}: has the same content as {new}\n"


def test_an_unfit_machine_is_not_measured(run, fake, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for answer, why in (
        ("580, 40, 1980, 90.5, 0, 3, 0x0", "3 uncorrected memory errors"),
        ("580, 40, 1980, 90.5, 70, 0, 0x0", "70% busy with something else"),
        ("580, 91, 1980, 90.5, 0, 0, 0x0", "at 91 degrees C before anything runs"),
        ("580, 40, 900, 90.5, 0, [N/A], 0x0000000000000040", "slows the clock already"),
    ):
        tool.write_text(f"#!/bin/sh\necho '{answer}'\n")
        tool.chmod(0o755)
        code, _, err = run(fake(rows=ROWS))
        assert code == 2
        assert why in err
    assert opened(tmp_path).nights("lab") == []
    tool.write_text("#!/bin/sh\necho '580, 40, 1980, [N/A], 0, [N/A], 0x0000000000000001'\n")
    assert run(fake(rows=ROWS))[0] == 0
    plan = opened(tmp_path).nights("lab")[0].document("plan.json")
    assert plan["health"] == {
        "driver": "580",
        "temperature_c": 40.0,
        "sm_clock_mhz": 1980.0,
        "utilisation_percent": 0.0,
        "clock_reasons": 1,
    }


def test_memory_errors_during_a_night_spoil_it_and_heat_does_not(
    run, fake, tmp_path: Path, monkeypatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-5,GPU-7")
    for after, expected in (
        ("580, 95, 1980, 690, 90, 0, 0x4", 0),
        ("580, 60, 1980, 90, 0, 1, 0", 2),
    ):
        seen = tmp_path / "seen"
        seen.unlink(missing_ok=True)
        (folder / "nvidia-smi").write_text(
            f"#!/bin/sh\n[ $1 = --id=GPU-5 ] || exit 1\n"
            f"if [ -e {seen} ]; then echo '{after}'; else touch {seen};"
            " echo '580, 40, 345, 90, 0, 0, 0x1'; fi\n"
        )
        (folder / "nvidia-smi").chmod(0o755)
        code, out, _ = run(fake(rows=ROWS))
        assert code == expected
    assert "night 2 is invalid: 1 uncorrected memory errors" in out


def test_a_row_that_fails_cannot_be_judged(run, fake) -> None:
    run(fake(rows=ROWS))
    left = {name: seconds for name, seconds in ROWS.items() if name != "gather/n:4"}
    code, out, _ = run(fake(rows=left, failed={"gather/n:4": "wrong sum"}))
    assert code == 2
    assert "gather/n:4: failed: wrong sum (last measured in night 1)" in out
    code, out, _ = run(fake(rows=left, skipped={"gather/n:4": "needs 2 GPUs"}))
    assert code == 2
    assert "gather/n:4: skipped: needs 2 GPUs" in out


def test_a_corrupt_plan_of_a_killed_night_stops_no_other(run, fake, tmp_path: Path) -> None:
    night = Store.open(tmp_path / "nights", rehearsal=False, create=True).root / "nights/lab/000001"
    night.mkdir(parents=True)
    (night / "plan.json").write_text('{"began"')
    os.utime(night / "plan.json", (0, 0))  # long settled
    code, out, _ = run(fake(rows={"gather/n:4": 3e-4}))
    assert code == 0
    assert "quarantined: lab/000001/plan.json: " in out
    assert [n.has("done.json") for n in opened(tmp_path).nights("lab")] == [True, True]
    assert "quarantined" not in run(fake(rows={"gather/n:4": 3e-4}))[1]  # it has been named


@pytest.mark.parametrize("name", [(), ("/full/disk",)])
def test_whatever_the_disk_refuses_is_one_line(run, fake, monkeypatch, name: tuple) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", *name)

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    code, _, err = run(fake(rows=ROWS))
    assert code == 2
    (where,) = name or ("a file or folder",)  # the kernel names none for what is already open
    assert err.splitlines()[-1] == f"nightly: {where}: No space left on device"


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("cuda", "here-cuda-0"),
        ("cuda:3", "here-cuda-3"),
        ("model:h200-sxm", "here-h200-sxm"),
        ("model:/some/where/h200-sxm.json", "here-h200-sxm"),
    ],
)
def test_a_machine_is_called_by_host_and_device(
    device: str, name: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    named = []

    def measure(self: NightRun, index: object) -> None:
        named.append(self.machine)
        raise CannotJudgeError("x", "is measured elsewhere")

    monkeypatch.setattr(NightRun, "run", measure)
    rehearsal = ["--rehearsal"] if device.startswith("model") else []
    assert main(["run", f"--store={tmp_path / 's'}", f"--device={device}", *rehearsal]) == 2
    assert "is measured elsewhere" in capsys.readouterr().err
    assert named == [name]


def test_a_rehearsed_device_varies_in_rates_and_times_alike(tmp_path: Path) -> None:
    device = ROOT / "harness/devices/h200-sxm.json"
    varied = varied_device(f"model:{device}", 0.01, "night 1", "process 1", tmp_path)
    old, new = (
        json.loads(Path(path.removeprefix("model:")).read_text())["figures"]
        for path in (str(device), varied)
    )
    faster = new["dram_bytes_per_second"]["value"] / old["dram_bytes_per_second"]["value"]
    assert faster != 1
    for name in ("launch_stream_seconds", "launch_graph_seconds", "sync_host_seconds"):
        assert old[name]["value"] / new[name]["value"] == pytest.approx(faster)
    assert new["event_resolution_seconds"] == old["event_resolution_seconds"]


def test_a_rehearsed_device_may_be_named(tmp_path: Path) -> None:
    path = ROOT / "harness/devices/h200-sxm.json"
    texts = []
    for number, device in enumerate((path, "h200-sxm")):
        folder = tmp_path / str(number)
        folder.mkdir()
        varied = varied_device(f"model:{device}", 0.01, "night 1", "process 1", folder)
        texts.append(Path(varied.removeprefix("model:")).read_text())
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("model:h9000", "unknown device 'h9000': known are "),
        ("model:no/such.json", "no/such.json: no such device file"),
        ("model", "noise needs a modelled device"),
    ],
)
def test_noise_for_a_device_without_a_file_begins_no_night(
    tmp_path: Path, capsys, device: str, said: str
) -> None:
    words = ["run", "--rehearsal", "--rehearsal-noise=0.01", f"--device={device}"]
    assert main([*words, f"--store={tmp_path / 's'}"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["run", "--rehearsal-noise=-1"], "'-1' is no number from 0 to below 1"),
        (["run", "--rehearsal-noise=nan"], "'nan' is no number"),
        (["run", "--rehearsal-noise=1"], "'1' is no number"),
        (["run", "--prog=./mine"], "unrecognized arguments: --prog"),  # the script knows no halves
        (["acknowledge", "*", "--reason=r", "--until=2026-02-30"], "'2026-02-30' is no day"),
        (["acknowledge", "*", "--reason=r", "--until=tomorrow"], "'tomorrow' is no day"),
        (["accept", "*"], "--reason"),
        (["benchmark", "--series=0"], "'0' is no number above 0"),
        (["frobnicate"], "invalid choice"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], problem: str, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert problem in capsys.readouterr().err


def test_a_program_that_writes_nothing_is_given_up(run, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(
        "#!/bin/sh\ncase \"$*\" in *list_devices*) echo '  cuda:0 Fake';; *list_tests*) echo a/b;;"
        " *) echo 'out of luck' >&2; exit 1;; esac\n"
    )
    broken.chmod(0o755)
    code, _, err = run(broken)
    assert code == 2
    assert "3 processes in a row failed: out of luck" in err


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        ({"git_commit": "b" * 40}, "and the others are from 2 commits; a night is of one"),
        (
            {"host_name": "other"},
            "and the others are from 2 hosts; name the machine with --machine",
        ),
    ],
)
def test_files_of_different_making_are_no_night(
    tmp_path: Path, capsys, context: dict[str, str], problem: str
) -> None:
    files = [tmp_path / "1.json", tmp_path / "2.json"]
    usual = {"git_commit": "a" * 40, "host_name": "one"}
    files[0].write_bytes(process_file(ROWS, **usual))
    files[1].write_bytes(process_file(ROWS, **{**usual, **context}))
    words = ["add", f"--store={tmp_path / 'nights'}", *map(str, files)]
    assert main(words) == 2
    assert capsys.readouterr().err == f"nightly: {files[0]}: {problem}\n"
    if "host_name" in context:  # of a container, perhaps, which has a new one each time
        main([*words, "--machine=lab"])
        assert len(opened(tmp_path).nights("lab")) == 1
