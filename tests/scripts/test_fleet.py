"""scripts/fleet: a process per GPU by mpirun, and by stand-ins for srun, ssh and kubectl."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/fleet"
MODEL = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build")) / "gpubench-model"
# Writes down how it was called; GPU 2 of a node cannot be used where `broken` lies beside it, and
# the run of GPU 1 is ended early where `killed` does.
PROGRAM = """#!/bin/bash
for argument in "$@"; do
  case "$argument" in
    --benchmark_out=*) out="${argument#*=}" ;;
    --benchmark_context=machine=*) machine="${argument##*=}" ;;
  esac
done
if [[ -e "$(dirname -- "$0")/broken" && "$machine" == */gpu2 ]]; then
  echo "gpubench: no CUDA device" >&2
  exit 2
fi
if [[ -e "$(dirname -- "$0")/killed" && "$machine" == */gpu1 ]]; then
  echo half >"$out"
  touch -- "$out.journal"
  echo "interrupted: 2 of 42 rows" >&2
  exit 143
fi
printf '%s|' "$machine" "$CUDA_VISIBLE_DEVICES" "${OMPI_COMM_WORLD_SIZE:-alone}" "$@" >"$out"
"""
# Two nodes with two GPUs each: runs what follows its options with each process's number.
SRUN = """#!/bin/bash
printf '%s\\n' "$@" >>"$0.words"
while [[ "$1" == -* ]]; do shift; done
for node in a b; do
  for rank in 0 1; do NODE_NAME=$node SLURM_LOCALID=$rank SLURM_NTASKS=4 "$@"; done
done
"""
SSH = """#!/bin/bash
printf '%s\\n' "$@" >>"$0.words"
while [[ "$1" == -* ]]; do [[ "$1" == -o ]] && shift; shift; done
[[ "$1" != down ]] || { echo "ssh: no route to host" >&2; exit 255; }
bash -c "$2"
"""
KUBECTL = """#!/bin/bash
printf '%s\\n' "$@" >>"$0.words"
[[ "$1" != apply ]] || cat >"$0.job"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `gpubench` and stand-ins for what starts it elsewhere."""
    (tmp_path / "bin").mkdir()
    stand_ins = {"srun": SRUN, "ssh": SSH, "kubectl": KUBECTL, "gpubench": PROGRAM}
    for name, text in stand_ins.items():
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    for name in ("CUDA_VISIBLE_DEVICES", "NODE_NAME", "SLURM_LOCALID"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def fleet(place: Path, *words: str, program: str = "bin/gpubench") -> tuple[int, str]:
    done = subprocess.run(
        [SCRIPT, f"--program={place / program}", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=place,
    )
    return done.returncode, done.stderr


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"sweep.txt"}


def test_each_gpu_of_this_machine_sees_itself_only(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    assert fleet(place, "--out=sweep", "--gpus=2", "--mode=hot")[0] == 0
    assert files(place / "sweep") == {"n1-gpu0.json", "n1-gpu1.json"}
    machine, visible, alone, *words = (place / "sweep/n1-gpu1.json").read_text().split("|")
    assert (machine, visible, alone) == ("n1/gpu1", "1", "alone")
    assert words[:4] == ["--device=cuda", "--suite=quick", "--predict=off", "--mode=hot"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-x,GPU-y")
    assert fleet(place, "--out=other", "--gpus=2")[0] == 0
    assert (place / "other/n1-gpu1.json").read_text().split("|")[1] == "GPU-y"


def test_a_folder_is_one_sweeps(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    flags = ("--out=sweep", "--mode=cold", "--suite=full")
    assert fleet(place, *flags, "--gpus=1")[0] == 0
    assert fleet(place, "--suite=full", *flags[:2], "--gpus=2")[0] == 0  # it goes on
    code, said = fleet(place, "--out=sweep", "--mode=hot", "--suite=full", "--gpus=3")
    assert (code, "other flags or another program (see " in said) == (2, True)
    # What the launcher starts is the program, too.
    (place / "bin/gpubench-cuda").write_text("rebuilt")
    code, said = fleet(place, *flags, "--gpus=3")
    assert (code, "other flags or another program (see " in said) == (2, True)
    assert files(place / "sweep") == {"n1-gpu0.json", "n1-gpu1.json"}


def test_flags_with_which_nothing_was_measured_bind_nobody(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    (place / "bin/srun").unlink()
    monkeypatch.setenv("PATH", f"{place / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    assert fleet(place, "--out=sweep", "--by=slurm", "--mode=hot")[0] == 2
    assert files(place / "sweep") == set()
    (place / "sweep/sweep.txt").write_text("program another\n")
    assert fleet(place, "--out=sweep", "--gpus=1", "--mode=cold")[0] == 0


def test_many_that_start_at_once_agree(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    with ThreadPoolExecutor(8) as pool:
        every = list(pool.map(lambda _: fleet(place, "--out=sweep", "--gpus=1"), range(8)))
    # What one of them is about to measure, another may call not measured yet.
    assert {code for code, _ in every} <= {0, 1}, every
    assert files(place / "sweep") == {"n1-gpu0.json"}


def test_the_next_command_can_be_copied(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    sweep = place / "our sweep"
    code, said = fleet(place, "--out=our sweep", "--gpus=1")
    assert code == 0
    assert said.startswith(f"scripts/fleet: 1 GPU has a result in {sweep}; next: ")
    assert shlex.split(said.partition("next: ")[2]) == ["gpubench-report", "fleet", str(sweep)]


def test_what_has_a_file_is_measured_again_only_on_request(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    sweep = place / "sweep"
    fleet(place, "--out=sweep", "--gpus=3")
    (sweep / "n1-gpu0.json").write_text("mine")
    (sweep / "n1-gpu1.json.journal").touch()  # of a run that was killed
    (sweep / "n1-gpu1.json").write_text("half")
    fleet(place, "--out=sweep", "--gpus=3")
    assert (sweep / "n1-gpu0.json").read_text() == "mine"
    assert (sweep / "n1-gpu1.json").read_text() != "half"
    (place / "verdict.json").write_text('{"drain": [{"machine": "n1/gpu2"}]}')
    assert fleet(place, "--out=sweep", "--gpus=3", "--again=verdict.json")[0] == 0
    assert files(sweep) == {f"n1-gpu{n}.json" for n in ("0", "1", "2", "2.2")}


def test_a_gpu_that_cannot_be_measured_costs_no_other(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    (place / "bin/broken").touch()
    code, said = fleet(place, "--out=sweep", "--gpus=4")
    assert code == 1
    assert "3 GPUs have a result" in said
    assert "1 could not be measured" in said
    assert (place / "sweep/n1-gpu2.log").read_text() == "gpubench: no CUDA device\n"


def test_half_a_run_is_no_result(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    (place / "bin/killed").touch()
    code, said = fleet(place, "--out=sweep", "--gpus=2")
    assert (code, "1 GPU has a result" in said) == (1, True)
    assert "1 could not be measured to the end" in said
    assert (place / "sweep/n1-gpu1.log").read_text() == "interrupted: 2 of 42 rows\n"
    (place / "verdict.json").write_text('{"gpus": ["n1/gpu1"]}')
    for again in ([], ["--again=verdict.json"]):
        assert fleet(place, "--out=sweep", "--gpus=2", *again)[0] == 1
    (place / "bin/killed").unlink()
    assert fleet(place, "--out=sweep", "--gpus=2")[0] == 0
    assert files(place / "sweep") == {"n1-gpu0.json", "n1-gpu1.json"}


def test_processes_do_not_share_the_only_visible_gpu(place: Path, monkeypatch) -> None:
    monkeypatch.setenv("NODE_NAME", "n1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    fleet(place, "--out=here", "--gpus=2")
    (place / "hosts").write_text("a\n")
    fleet(place, "--out=ssh", "--by=ssh", "--hosts=hosts", "--gpus=2")
    for found in ("here/n1", "ssh/a"):
        seen = [(place / f"{found}-gpu{n}.json").read_text().split("|")[1] for n in (0, 1)]
        assert seen == ["3", "none"]
    fleet(place, "--out=slurm", "--by=slurm", "--gpus=2")  # which gave each task its own
    assert (place / "slurm/b-gpu1.json").read_text().split("|")[1] == "3"


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_eight_processes_of_mpirun(place: Path) -> None:
    (place / "bin/broken").touch()
    assert fleet(place, "--out=sweep", "--by=mpirun")[0] == 1
    found = [path.read_text().split("|") for path in sorted((place / "sweep").glob("*.json"))]
    assert [line[0].partition("/")[2] for line in found] == [
        f"gpu{n}" for n in (0, 1, 3, 4, 5, 6, 7)
    ]
    assert [line[1] for line in found] == list("0134567")
    assert {line[2] for line in found} == {"alone"}


def test_slurm(place: Path) -> None:
    words = ("--by=slurm", "--nodes=2", "--gpus=2", "--launcher-option=--partition=gpu")
    assert fleet(place, "--out=sweep", *words)[0] == 0
    assert files(place / "sweep") == {f"{n}-gpu{g}.json" for n in "ab" for g in (0, 1)}
    asked = (place / "bin/srun.words").read_text().splitlines()
    assert asked[:3] == ["--nodes=2", "--ntasks-per-node=2", "--gpus-per-node=2"]
    assert asked[asked.index(str(SCRIPT)) - 1] == "--partition=gpu"


def test_ssh(place: Path) -> None:
    (place / "hosts").write_text("# ours\na\ndown\n\nb  # the new one\n")
    code, said = fleet(place, "--out=sweep", "--by=ssh", "--hosts=hosts", "--gpus=2")
    assert code == 1
    assert "down: ssh: no route to host" in said
    measured = {f"{n}-gpu{g}.json" for n in "ab" for g in (0, 1)}
    assert files(place / "sweep") == measured | {"down.log"}
    (place / "hosts").write_text("a.example.com\n")
    assert fleet(place, "--out=dotted", "--by=ssh", "--hosts=hosts", "--gpus=1")[0] == 0
    assert files(place / "dotted") == {"a.example.com-gpu0.json"}
    (place / "hosts").write_text("a\nb")  # without a newline at its end
    assert fleet(place, "--out=all", "--by=ssh", "--hosts=hosts", "--gpus=1")[0] == 0
    assert files(place / "all") == {"a-gpu0.json", "b-gpu0.json"}
    (place / "hosts").write_text("a;b\n")
    assert "'a;b' is not a host's name" in fleet(place, "--out=o", "--by=ssh", "--hosts=hosts")[1]


def test_kubernetes(place: Path) -> None:
    words = ("--by=kubernetes", "--nodes=16", "--image=registry/gpubench:1", "--claim=results")
    assert fleet(place, *words, "--remote=/opt/gpubench", '--benchmark_filter=^"a\\b"')[0] == 0
    job = (place / "bin/kubectl.job").read_text()
    assert not re.search(r"@[A-Z]+@", job)
    assert "completions: 16" in job
    assert 'image: "registry/gpubench:1"' in job
    [line] = [line for line in job.splitlines() if "command:" in line]
    command = json.loads(line.partition(":")[2])
    assert command[0] == "/opt/gpubench/scripts/fleet"
    assert command[-2:] == ['--benchmark_filter=^"a\\b"', "--out=/results"]
    asked = (place / "bin/kubectl.words").read_text().splitlines()
    assert asked[:3] == ["apply", "-f", "-"]
    assert asked[-1] == "job/gpubench-fleet"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "where do the files go?"),
        (["--out=s", "--by=pbs"], "--by=pbs: takes here, slurm"),
        (["--out=s", "--gpus=0"], "--gpus=0: takes a whole number >= 1"),
        (["--out=s", "--gpu=8"], "unknown argument '--gpu=8'"),
        (["--out=s", "--by=ssh"], "--by=ssh needs --hosts=FILE"),
        (["--out=s", "--again=none.json"], "--again=none.json: cannot read it"),
        (["--by=kubernetes", "--again=v.json"], "--again does not work with --by=kubernetes"),
        (["--out=s", "--by=ssh", "--again=v.json"], "--again does not work with --by=ssh"),
        (["--by=kubernetes", "--nodes=2"], "--by=kubernetes needs --image and --claim"),
    ],
)
def test_a_wrong_command_line_is_one_line(place: Path, words: list[str], said: str) -> None:
    code, complaint = fleet(place, *words)
    assert code == 2
    assert complaint.startswith("scripts/fleet: ")
    assert said in complaint
    assert len(complaint.splitlines()) == 1


SLOW_ONE = """#!/usr/bin/env python3
import json, os, pathlib, re, sys
gpu = next(int(m[1]) for a in sys.argv if (m := re.search(r"machine=.*/gpu(\\d+)$", a)))
timing = {"seed": gpu + 1, "noise": {"sigma": 0.002, "process_sigma": 0.004}}
if gpu == 5:
    timing["clock"] = {"heavy_seconds": 0, "limit_hz": 1.7e9, "limit_load": 0.01}
own = pathlib.Path(__file__).with_name(f"conditions-{gpu}.json")
own.write_text(json.dumps({"about": f"GPU {gpu}", "timing": timing}))
os.execv(MODEL, [MODEL, *sys.argv[1:], f"--conditions={own}"])
"""


@pytest.mark.release
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_the_slowed_one_of_eight_model_devices_is_found(place: Path, capsys) -> None:
    from gpubench_reports.commands.command_line import main

    if not MODEL.exists():
        pytest.skip(f"gpubench-model is not built in {MODEL.parent}")
    program = place / "bin/eight"
    program.write_text(SLOW_ONE.replace("MODEL", repr(str(MODEL))))
    program.chmod(0o755)
    rows = "--benchmark_filter=^(stream|occupancy|bank_conflicts)/"
    words = ("--out=sweep", "--by=mpirun", "--device=model:h100-sxm", rows)
    assert fleet(place, *words, program="bin/eight")[0] == 0
    assert main(["fleet", str(place / "sweep"), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["modelled"]
    assert [line["gpu"] for line in verdict["drain"]] == ["5"]
