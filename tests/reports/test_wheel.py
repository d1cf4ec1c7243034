"""The package away from its checkout: a wheel holds all that its commands read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from gpubench_reports.commands.command_line import COMMANDS
from gpubench_reports.nightly.commands.command_line import COMMANDS as NIGHTLY

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "tests/data/results/version-2.json"


# Each command's help, without starting Python for each.
ASK_ALL = """
import contextlib, importlib, sys
main = importlib.import_module(sys.argv[1] + ".commands.command_line").main
for name in sys.argv[2:]:
    with contextlib.suppress(SystemExit):
        main([name, "--help"])
"""


def succeed(command: list[str], **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built of a copy, since setuptools writes beside what it builds; nothing is downloaded."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copytree(
        ROOT / "reports",
        tree / "reports",
        symlinks=True,
        ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "gallery"),
    )
    for linked in ("harness/devices", "docs/concepts", "results/modelled"):
        shutil.copytree(ROOT / linked, tree / linked)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    succeed(
        [sys.executable, "-m", "pip", "wheel", *options, "-w", str(tree), "./reports"], cwd=tree
    )
    (found,) = tree.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """installed(module, *arguments): what a module of the wheel says, run elsewhere."""
    place = tmp_path_factory.mktemp("installed")
    with ZipFile(wheel) as archive:
        archive.extractall(place)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    environment = os.environ | {"PYTHONPATH": str(place)}

    def run(module: str, *arguments: str) -> str:
        command = [sys.executable, "-m", module, *arguments]
        return succeed(command, cwd=elsewhere, env=environment)

    where = "import gpubench_reports; print(gpubench_reports.__file__)"
    found = succeed([sys.executable, "-c", where], cwd=elsewhere, env=environment)
    assert found.startswith(str(place))
    run.python = lambda *arguments: succeed(
        [sys.executable, "-c", *arguments], cwd=elsewhere, env=environment
    )
    run.elsewhere = elsewhere
    return run


def test_the_wheel_has_every_file_of_the_package(wheel):
    package = ROOT / "reports/gpubench_reports"
    data = [path for end in ("toml", "css", "js") for path in package.rglob(f"*.{end}")]
    devices = sorted((ROOT / "harness/devices").glob("*.json"))
    assert data
    assert devices
    wanted = {str(path.relative_to(package.parent)) for path in [*package.rglob("*.py"), *data]}
    wanted |= {f"gpubench_reports/devices/{path.name}" for path in devices}
    pages = sorted((ROOT / "docs/concepts").glob("*.md"))
    assert pages
    wanted |= {f"gpubench_reports/concepts/{path.name}" for path in pages}
    with ZipFile(wheel) as archive:
        held = set(archive.namelist())
        assert wanted - held == set()
        for path in devices:
            assert archive.read(f"gpubench_reports/devices/{path.name}") == path.read_bytes()


@pytest.mark.parametrize(
    ("module", "commands"), [("gpubench_reports", COMMANDS), ("gpubench_reports.nightly", NIGHTLY)]
)
def test_every_command_can_be_asked_for_help(installed, module, commands):
    listed = installed(module, "--help")
    for command in commands:
        assert f" {command.NAME}" in listed
    asked = installed.python(ASK_ALL, module, *(command.NAME for command in commands))
    assert asked.count("usage: ") == len(commands)


def test_calibrate_finds_its_device_files(installed):
    said = installed(
        "gpubench_reports", "calibrate", str(RUN), "--from-model", "--name", "h200-again"
    )
    assert (installed.elsewhere / "h200-again.json").is_file()
    assert "on top of h200-sxm" in said


def test_table_page_and_claims_need_no_checkout(installed):
    assert "coalescing/strided_read" in installed("gpubench_reports", "table", str(RUN))
    page = installed.elsewhere / "run.html"
    installed("gpubench_reports", "html", str(RUN), "--out", str(page))
    assert "<script>" in page.read_text(encoding="utf-8")
    assert "MODELLED" in installed("gpubench_reports", "markdown", str(RUN)).upper()
    installed("gpubench_reports", "claims", str(RUN))
    assert installed("gpubench_reports", "calibrate", "--filter").startswith("^(")
