"""The modelled files in results/modelled are what the program gives."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from .conftest import BUILD, ROOT, RowsOfConcept, concepts, is_run, rows_of

MODELLED = ROOT / "results/modelled"
DEVICES = sorted(path.stem for path in MODELLED.glob("*.json"))
DIGITS = 1e-3  # a file has five, of which threads that add up in any order may change one


def shipped(device: str) -> dict[str, dict]:
    rows = json.loads((MODELLED / f"{device}.json").read_text())["benchmarks"]
    return {row["name"]: row for row in rows}


def differing(found: dict[str, dict], kept: dict[str, dict]) -> dict[str, tuple[float, float]]:
    """The time of each row in the program's run and in the file."""
    both = {name: (row["real_time"], kept[name]["real_time"]) for name, row in found.items()}
    return {n: (a, b) for n, (a, b) in both.items() if not math.isclose(a, b, rel_tol=DIGITS)}


@pytest.mark.parametrize("concept", concepts())
def test_the_file_of_an_h200_is_current(concept: str, rows_of_concept: RowsOfConcept) -> None:
    kept = {n: r for n, r in shipped("h200-sxm").items() if "real_time" in r}
    rows = {n: r for n, r in rows_of_concept(concept).items() if n in kept}
    of_concept = {n for n, r in kept.items() if r["concept"] == concept and is_run(n)}
    assert of_concept == set(rows)
    assert not differing(rows, kept)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_of_launches_and_copies_are_current(device: str) -> None:
    """They take little time to model, and come from many figures of the device file."""
    launches = "launch_overhead/(empty|programmatic)_row/by:(stream|graph)/launches:(1|64)$"
    few = f"--benchmark_filter=^({launches}|transfer/(h2d|d2h)/)"
    flags = (f"--device=model:{device}", few)
    rows = {n: r for n, r in rows_of(*flags).items() if not r.get("skipped")}
    assert rows
    assert not differing(rows, shipped(device))


@pytest.mark.release
@pytest.mark.parametrize("device", ["h100-sxm", "b200", "rtx-5090"])
def test_the_whole_file_is_current(device: str) -> None:
    command = [sys.executable, "scripts/modelled.py", "--check", BUILD / "gpubench-model", device]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("./absent", "h100-sxm"), "/absent does not start: No such file or directory"),
        (("true", "h100-sxm"), f"{ROOT}/true does not start"),  # and not the one in PATH
        (("./absent", "../h100-sxm"), "no GPU is called '../h100-sxm'"),
    ],
)
def test_mistakes_end_with_a_line(arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "scripts/modelled.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr.splitlines()[-1]
