"""A fortnight of modelled nights through the real command, with a slow-down in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench_reports.nightly.commands.command_line import main
from gpubench_reports.nightly.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
DEVICE = ROOT / "harness/devices/h200-sxm.json"
COMMAND = [sys.executable, "-m", "gpubench_reports.nightly"]  # what scripts/nightly becomes
Done = subprocess.CompletedProcess
ROW = "roofline/chains/dtype:fp32/eighths:"
MEMORY_BOUND = ROW + "1"


@pytest.fixture
def built() -> Path:
    if not (BUILD / "gpubench-model").exists():
        pytest.skip(f"gpubench-model is not built in {BUILD}")
    return BUILD / "gpubench"


def command(*arguments: str) -> Done:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_a_fortnight_with_a_slow_down(built: Path, tmp_path: Path, capsys) -> None:
    def nightly(*arguments: str) -> Done:
        """The command, without starting Python once more."""
        code = main(arguments)
        return Done(arguments, code, *capsys.readouterr())

    slow = tmp_path / "slow" / DEVICE.name
    slow.parent.mkdir()
    document = json.loads(DEVICE.read_text())
    document["figures"]["dram_bytes_per_second"]["value"] *= 0.95
    slow.write_text(json.dumps(document))
    store = tmp_path / "store"
    flags = [
        "--rehearsal",
        f"--store={store}",
        f"--program={built}",
        "--machine=lab",
        "--processes=3",
        "--rehearsal-noise=0.003",
        "--suite=default",
        f"--filter=^{ROW}(1|1024)$",
    ]
    done = [
        (command if night == 13 else nightly)(
            "run", *flags, f"--device=model:{slow if night > 11 else DEVICE}"
        )
        for night in range(1, 15)
    ]
    # The slow-down began in night 12; a second night, measured again like the first, confirms it.
    assert [one.returncode for one in done] == [0] * 12 + [1] * 2, done[-1].stdout + done[-1].stderr
    text = done[12].stdout
    assert text.startswith("REHEARSAL: every night here is modelled, nothing was measured")
    assert "REGRESSION: 1\n" in text
    (line,) = [line for line in text.splitlines() if f"{MEMORY_BOUND}  " in line]
    assert "since night 12 (2 nights running, clock not known)" in line
    assert 4 < float(line.split()[0]) < 7  # percent: 5 % less bandwidth is 5.3 % more time
    verdict = Store.open(store, rehearsal=True).nights("lab")[12].document("verdict.json")
    assert [event["benchmark"] for event in verdict["events"]] == [MEMORY_BOUND]
    assert "REHEARSAL" in (store / "report.html").read_text()

    accepted = nightly(
        "accept", "roofline/*", "--reason=a rehearsal", "--rehearsal", f"--store={store}"
    )
    assert accepted.stdout == f"accept: {MEMORY_BOUND} on lab\n"
    assert nightly("status", "--rehearsal", f"--store={store}").returncode == 0
    assert command("status", f"--store={store}").returncode == 2  # it is no store of real nights
