"""What comes from elsewhere: pinned, hashed, and asked for when installing only."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

LISTS = sorted([*ROOT.glob("reports/requirements*.txt"), ROOT / "tests/requirements.txt"])
HASH = r" --hash=sha256:[0-9a-f]{64}"


def entries(path: Path) -> list[str]:
    """The entries of a list, each on one line, without comments."""
    joined = path.read_text("utf-8").replace("\\\n", "")
    lines = [line.partition("#")[0].strip() for line in joined.splitlines()]
    return [re.sub(r" +", " ", line) for line in lines if line]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_package_has_one_version_and_its_hashes(path: Path) -> None:
    found = entries(path)
    assert found
    for entry in found:
        assert re.fullmatch(rf"-r \S+|[\w.-]+==[\w.]+({HASH})+", entry), entry[:80]


def test_the_scripts_take_no_file_without_its_hash() -> None:
    for script in ("scripts/lib.sh", "scripts/bundle-offline"):
        text = (ROOT / script).read_text("utf-8").replace("\\\n", " ")
        lines = [line for line in text.splitlines() if re.search(r"pip\[@\].* -r ", line)]
        assert lines, script
        assert all("--require-hashes" in line for line in lines), script


def test_pip_refuses_a_file_that_was_put_in_its_place(tmp_path: Path) -> None:
    put = tmp_path / "put"
    put.mkdir()
    (put / "tqdm-4.70.1-py3-none-any.whl").write_bytes(b"something else")
    (entry,) = [one for one in entries(ROOT / "reports/requirements.txt") if "tqdm" in one]
    (tmp_path / "list.txt").write_text(entry + "\n")
    pip = [sys.executable, "-m", "pip", "download", "--no-index", f"--find-links={put}"]
    done = subprocess.run(
        [*pip, "--no-deps", "--require-hashes", "-r", str(tmp_path / "list.txt")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode != 0
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


def test_no_report_asks_the_network(tmp_path: Path) -> None:
    """Every address is out of reach, loopback too."""
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace can be made here")
    result = tmp_path / "run.json"
    result.write_bytes((ROOT / "tests/data/results/version-2.json").read_bytes())
    for command in (["claims"], ["html"]):
        program = [sys.executable, "-m", "gpubench_reports", *command, str(result)]
        done = subprocess.run(
            [*alone, *program], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "run.html").read_text("utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
