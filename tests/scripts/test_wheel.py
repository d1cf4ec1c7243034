"""The wheel of reports/, installed in a fresh environment where the checkout is not to be seen."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import COMMANDS

from .conftest import ROOT, run_hidden

REPORTS = ROOT / "reports"
# The package finds nothing of these but what it carries.
HIDDEN = [ROOT / name for name in ("reports", "harness", "docs", "results", "tests")]
RESULT = ROOT / "tests/data/results/version-2.json"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("wheel")
    # A copy, with what its links lead to: a build leaves files beside what it builds.
    copy = Path(shutil.copytree(REPORTS, where / "reports", ignore=lambda *_: {"gallery"}))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-index"]
    done = subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "-w", where, copy],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [made] = where.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the environment `venv`, and one result file."""
    where = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where / "venv"], check=True)
    [site] = where.glob("venv/lib/*/site-packages")
    # matplotlib and the others are this environment's; its own gpubench_reports is found by a .pth
    # file there, which is not read from here.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", where / "venv/bin/python", "install"]
    # Whatever else that environment can see of the same name, its own copy is this one.
    own = ["--quiet", "--ignore-installed", "--no-compile", "--no-index", "--no-deps"]
    subprocess.run([*pip, *own, wheel], check=True, timeout=300)
    shutil.copy(RESULT, where / "run.json")
    return where


def run_installed(fresh: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return run_hidden(HIDDEN, [fresh / "venv/bin" / program, *words], fresh)


def test_the_wheel_carries_every_device_file_and_page(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, source in (
        ("devices", ROOT / "harness/devices"),
        ("modelled", ROOT / "results/modelled"),
    ):
        files = [path.name for path in source.glob("*.json")]
        assert files
        assert {f"gpubench_reports/{folder}/{name}" for name in files} <= names
    pages = [path.name for path in (ROOT / "docs/concepts").glob("*.md")]
    assert {f"gpubench_reports/concepts/{name}" for name in pages} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_a_device_is_known_by_its_name(fresh: Path) -> None:
    done = run_installed(fresh, "gpubench-report", "roofline", "run.json", "mi300x")
    assert (done.returncode, done.stdout.split()) == (0, ["rooflines.png", "rooflines.svg"])
    assert (fresh / "rooflines.png").stat().st_size > 0


# What each command answers here; 2 where one line says what the file or the machine lacks.
REPORT_COMMANDS = {
    "render run.json": 0,
    "html run.json": 0,
    "markdown run.json": 0,
    "csv run.json": 0,
    "diagnose run.json": 0,
    "job run.json": 2,
    "table run.json": 0,
    "compare run.json --against=h100-sxm": 0,
    "claims run.json": 0,
    "validate run.json": 2,
    "agree run.json run.json": 2,
    "counters run.json absent.csv": 2,
    "goals .": 2,
    "calibrate run.json --from-model -o device.json": 0,
    "peers .": 2,
    "import --from=nccl-tests absent.txt -o old.json": 2,
    "timed run.json -o timed.json": 0,
    "gallery": 2,
    "published .": 2,
    "roofline run.json": 0,
    "fleet run.json": 2,
}
NIGHTLY_COMMANDS = {
    "run --store=nights": 2,
    "add run.json --store=nights": 2,
    "status --store=nights": 2,
    "report --store=nights": 0,
    "index --store=nights": 0,
}


def test_every_command_of_the_reports_is_listed() -> None:
    assert {words.split()[0] for words in REPORT_COMMANDS} == {one.NAME for one in COMMANDS}


@pytest.mark.release
@pytest.mark.parametrize(
    ("program", "commands"),
    [("gpubench-report", REPORT_COMMANDS), ("gpubench-nightly", NIGHTLY_COMMANDS)],
)
def test_every_command_works_from_the_wheel(
    fresh: Path, program: str, commands: dict[str, int]
) -> None:
    for words, code in commands.items():
        done = run_installed(fresh, program, *words.split())
        assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, words
        assert code == 0 or len(done.stderr.splitlines()) == 1, f"{words}: {done.stderr}"
