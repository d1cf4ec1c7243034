"""Nights through the command, on programs that pretend to have a GPU."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.store.store import Store

from .conftest import put_night, values

ROWS = {"stream/read/n:1": 1e-4, "stream/copy/n:1": 2e-4, "gather/n:4": 3e-4}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """run(program, flags...) -> exit code, standard output and error of one night."""

    def night(program: Path, *flags: str) -> tuple[int, str, str]:
        code = main(
            [
                "run",
                f"--store={tmp_path / 'nights'}",
                f"--program={program}",
                "--machine=lab",
                *flags,
            ]
        )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return night


def opened(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "nights", rehearsal=False)


def command(tmp_path: Path, program: Path, *flags: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "gpubench_reports.nightly",
        "run",
        "--machine=lab",
        f"--store={tmp_path / 'nights'}",
        f"--program={program}",
        *flags,
    ]


def test_a_night_is_fresh_processes_in_random_order(run, fake, tmp_path: Path) -> None:
    code, out, err = run(fake(rows=ROWS))
    assert code == 0
    assert "3 rows in 10 fresh processes, in random order" in err
    assert "verdict: nothing" in out
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
    store = Store.open(tmp_path / "nights", rehearsal=False, create=True)
    for _ in range(11):
        put_night(
            store,
            ROWS,
            device="fake",
            device_title="NVIDIA Fake",
            driver_version="580",
            cuda_version="13.0",
            compiler="nvcc",
            compiler_flags="-O3",
        )
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
    assert main(["add", store, files[0], str(tmp_path / "new.json")]) == 2
    assert "part of a night already" in capsys.readouterr().err


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
    code, out, _ = run(fake(rows={"gather/n:4": 3e-4}))
    assert code == 0
    assert "quarantined: lab/000001/plan.json: " in out
    assert [n.has("done.json") for n in opened(tmp_path).nights("lab")] == [True, True]
    assert "quarantined" not in run(fake(rows={"gather/n:4": 3e-4}))[1]  # it has been named


def test_whatever_the_disk_refuses_is_one_line(run, fake, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    code, _, err = run(fake(rows=ROWS))
    assert code == 2
    assert err.splitlines()[-1] == f"nightly: {tmp_path}: No space left on device"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
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


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def is_free(tmp_path: Path) -> bool:
    """Nothing measures on the machine."""
    try:
        with opened(tmp_path).measuring("lab"):
            return True
    except ReportError:
        return False


def killed_night(tmp_path: Path, program: Path) -> None:
    """A night on a program that `kills`; returns once the program has ended, too."""
    done = subprocess.run(command(tmp_path, program), capture_output=True, check=False)
    assert done.returncode != 0
    wait_for(lambda: is_free(tmp_path))


def test_a_killed_night_is_taken_up_again(run, fake, tmp_path: Path) -> None:
    log = tmp_path / "log"
    kills = {2: signal.SIGKILL, 6: signal.SIGTERM, 9: signal.SIGKILL}
    program = fake(rows=ROWS, log=str(log), kills=kills)
    for stored in (1, 1 + 3, 1 + 3 + 2):  # what the killed one measured is lost
        killed_night(tmp_path, program)
        (night,) = opened(tmp_path).nights("lab")
        assert not night.has("done.json")
        assert len(night.results()) == stored
    kept = {path.name: path.stat().st_mtime_ns for path in night.results()}
    log.unlink()
    program = fake(rows=ROWS, log=str(log))
    code, _, err = run(program)
    assert code == 0
    assert "night 1 was killed: going on with it" in err
    assert len(log.read_text()) == 10 - len(kept)  # nothing was measured twice
    (night,) = opened(tmp_path).nights("lab")
    after = {path.name: path.stat().st_mtime_ns for path in night.results()}
    assert len(after) == 10
    assert kept.items() <= after.items()
    assert {(v[1], v[6]) for v in values(opened(tmp_path))} == {(name, 5) for name in ROWS}


def test_a_killed_night_of_another_program_is_closed_as_it_is(run, fake, tmp_path: Path) -> None:
    kills = {2: signal.SIGKILL}
    killed_night(tmp_path, fake(rows=ROWS, log=str(tmp_path / "log"), kills=kills))
    other = fake("other", rows=ROWS)
    other.write_text(other.read_text() + "# a new build\n")
    code, out, _ = run(other)
    assert code == 0, out
    first, second = opened(tmp_path).nights("lab")
    assert first.document("done.json")["abandoned"] is True
    assert "abandoned" not in second.document("done.json")


def test_two_nights_at_once_do_not_disturb_each_other(run, fake, tmp_path: Path) -> None:
    log, until = tmp_path / "log", tmp_path / "until"
    program = fake(rows=ROWS, log=str(log), until=str(until))
    process = subprocess.Popen(
        command(tmp_path, program), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    wait_for(log.exists)
    code, _, err = run(program)
    assert code == 2
    assert "another night is being measured here" in err
    until.touch()
    assert process.wait() == 0
    assert len(opened(tmp_path).nights("lab")) == 1


def test_a_program_that_outlives_its_night_is_not_disturbed(run, fake, tmp_path: Path) -> None:
    until = tmp_path / "until"
    log = str(tmp_path / "log")
    program = fake(rows=ROWS, log=log, kills={1: signal.SIGKILL}, until=str(until))
    # To a file: the program that lives on would hold a pipe.
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(command(tmp_path, program), stdout=out, stderr=out)
        assert process.wait() == -signal.SIGKILL
    fake(rows=ROWS)
    code, _, err = run(program)
    assert (code, "another night is being measured here" in err) == (2, True)
    until.touch()
    wait_for(lambda: is_free(tmp_path))
    assert run(program)[0] == 0
    assert len(opened(tmp_path).nights("lab")[0].results()) == 10


def test_a_disk_that_fills_up_during_a_night(run, fake, tmp_path: Path) -> None:
    """The night is taken up where it stopped once there is room again."""
    program = fake(rows=ROWS, counters={"note": "x" * 400})
    script = (
        "import os, sys\n"
        "from gpubench_reports.nightly.commands import command_line\n"
        "from gpubench_reports.nightly.nights import running\n"
        "made, link = [], os.link\n"
        "def full(*a):\n"
        "    made.append(a)\n"
        "    if len(made) > 6: raise OSError(28, 'No space left on device')\n"
        "    link(*a)\n"
        "running.os.link = full; sys.exit(command_line.main(sys.argv[1:]))"
    )
    flags = command(tmp_path, program)[3:]
    done = subprocess.run(
        [sys.executable, "-c", script, *flags], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot write: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    (night,) = opened(tmp_path).nights("lab")
    before = len(night.results())
    assert 1 <= before < 10
    assert run(program)[0] == 0
    assert len(opened(tmp_path).nights("lab")[0].results()) == 10


def test_a_night_killed_among_its_reruns_finishes_them(run, fake, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "nights", rehearsal=False, create=True)
    for _ in range(11):
        put_night(
            store,
            ROWS,
            device="fake",
            device_title="NVIDIA Fake",
            driver_version="580",
            cuda_version="13.0",
            compiler="nvcc",
            compiler_flags="-O3",
        )
    slow = {"rows": ROWS | {"gather/n:4": 3.1e-4}, "log": str(tmp_path / "log")}
    killed_night(tmp_path, fake(**slow, kills={10 + 4: signal.SIGKILL}))
    # The rest of the reruns find it as it was; those that are there are not measured again.
    assert run(fake(rows=ROWS))[0] == 0
    (night,) = opened(tmp_path).nights("lab")[11:]
    assert len([path for path in night.results() if path.name.startswith("rerun-")]) == 5
    rerun = {(v[1], v[2]): v[5] for v in values(opened(tmp_path))}["gather/n:4", 12]
    assert rerun == pytest.approx(3.1e-4)  # the median of three slow ones and two quick ones
