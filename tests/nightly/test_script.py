"""scripts/nightly: what it builds and installs before it becomes the command."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpubench_reports.nightly.commands.command_line import SWITCHES

ROOT = Path(__file__).resolve().parents[2]
STUB = """
root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
venv="$root/.venv"
say() { printf '%s\\n' "$*" >&2; }
lock_checkout() { :; }
unlock_checkout() { :; }
ensure_packages() { :; }
ensure_build_packages() { :; }
ensure_built() { echo "configure $1"; echo "build $3"; [[ ! -e "$root/broken" ]] || die "broken"; }
ensure_python() { echo "python ${1##*/}"; }
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose installing and building only say what they would do."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/nightly", tmp_path / "scripts/nightly")
    (tmp_path / "scripts/lib.sh").write_text(STUB)
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\necho "store $GPUBENCH_STORE"\nexit 1\n')
    python.chmod(0o755)
    return tmp_path


def run(checkout: Path, *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [checkout / "scripts/nightly", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_a_night_builds_first_and_passes_the_exit_code_on(checkout: Path) -> None:
    command = f"-m gpubench_reports.nightly run --program={checkout}/build/gpubench"
    said = [
        "configure release",
        "build gpubench",
        "python requirements-nightly.txt",
        command,
        f"store {checkout}/results/local/nightly",
    ]
    assert run(checkout) == (1, said)
    assert run(checkout, "run") == (1, said)
    assert run(checkout, "learn", "--nights=3")[1][:2] == said[:2]
    said[3] = said[3].replace(" --program", " --suite=quick --program")
    assert run(checkout, "--suite=quick") == (1, said)
    said[3] = said[3].replace("--suite=quick", "--suite quick --rehearsal")
    assert run(checkout, "--suite", "quick", "--rehearsal") == (1, said)


def test_other_commands_build_nothing(checkout: Path) -> None:
    for arguments in (["status"], ["run", "--program=./mine"], ["--help"]):
        code, said = run(checkout, *arguments)
        assert code == 1
        assert said[:2] == [
            "python requirements-nightly.txt",
            f"-m gpubench_reports.nightly {' '.join(arguments)}",
        ]
    for before in (["--store=X"], ["--store", "X"], ["--rehearsal", "--store=run"]):
        assert run(checkout, *before, "status")[1][1].endswith(f"{' '.join(before)} status")
    for switch in SWITCHES:
        assert run(checkout, switch, "status")[1][0] == "python requirements-nightly.txt"
    assert run(checkout, "export", "parquet", "lake")[1][0] == "python requirements-fleet.txt"


def test_what_cannot_be_built_cannot_be_judged(checkout: Path) -> None:
    (checkout / "broken").touch()
    assert run(checkout) == (2, ["configure release", "build gpubench"])
