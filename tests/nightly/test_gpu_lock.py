"""Two never measure on one GPU at once, whichever histories they are for."""

import os
import subprocess
from pathlib import Path

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.nights.gpu_lock import alone_on

from .nights import ROWS

GPU = {"uuid": "GPU-1"}
BUSY = "another night or comparison is measuring on this GPU"


def test_a_gpu_is_one_by_its_uuid_whatever_its_number(locks: Path) -> None:
    with alone_on("cuda", GPU):
        with pytest.raises(ReportError, match=f"cuda:1: {BUSY}"), alone_on("cuda:1", GPU):
            pass
        with alone_on("cuda:1", {"uuid": "GPU-2"}):
            pass
    with alone_on("cuda:1", GPU):  # it is free again
        pass
    made = sorted(path.name for path in locks.iterdir())
    assert made == ["gpubench-GPU-1.lock", "gpubench-GPU-2.lock"]
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in locks.iterdir())  # for all users


def test_without_nvidia_smi_it_is_one_by_what_cuda_sees(monkeypatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    with alone_on("cuda:1", {}):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
        with pytest.raises(ReportError, match=BUSY), alone_on("cuda", {}):
            pass


def test_a_modelled_gpu_is_nobodys() -> None:
    with alone_on("model:h200-sxm", {}), alone_on("model:h200-sxm", {}):
        pass


def test_a_link_in_place_of_the_lock_is_not_followed(locks: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (locks / "gpubench-GPU-1.lock").symlink_to(target)
    with pytest.raises(ReportError, match="cannot open"), alone_on("cuda", GPU):
        pass
    assert not target.exists()


def test_whoever_measures_waits_for_no_one_and_says_so(run, fake, tmp_path: Path, capsys) -> None:
    program = fake(rows=ROWS)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with alone_on("cuda", {}):
        code, _, err = run(program, "--machine=other", f"--store={tmp_path / 'other'}")
        assert (code, BUSY in err) == (2, True)
        for command in (
            ["learn", f"--program={program}", "--nights=1", f"--store={tmp_path / 'learnt'}"],
            ["compare", str(program), str(program)],
            ["bisect", "--good=a", "--bad=b", f"--repository={tmp_path}"],
        ):
            code = main(command)
            assert (code, BUSY in capsys.readouterr().err) == (2, True), command


def test_a_night_holds_the_gpu_while_it_measures(run, fake, tmp_path: Path, locks: Path) -> None:
    """Its program finds the lock taken."""
    program = fake(rows={"gather/n:4": 3e-4})
    said = tmp_path / "said"
    asking = program.with_name("asking")
    asking.write_text(
        f'#!/bin/sh\nflock -n "{locks}/gpubench-0.lock" true; echo $? >> "{said}"\n'
        f'exec "{program}" "$@"\n'
    )
    asking.chmod(0o755)
    assert run(asking, "--processes=3")[0] == 0
    assert main(["compare", str(asking), str(asking), "--rounds=4"]) == 0
    answers = said.read_text().split()
    # The programs that only say what they can do are asked before.
    assert answers.count("1") == 1 + 3 + 2 + 8
    assert os.listdir(locks) == ["gpubench-0.lock"]  # noqa: PTH208
