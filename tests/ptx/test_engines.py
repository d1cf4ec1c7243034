"""One row of each concept on both engines: the same results, and the same counts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from .conftest import BUILD, ROOT

CONDUCTS = ["ptx", "ptx:late,slow,random=1,shift=128"]
MORE = ["ptx:late", "ptx:slow", "ptx:shift=640", "ptx:random=3", "ptx:random=4,late,slow"]
COUNTED = ("requests", "bytes", "sectors", "wavefronts")
# What nvcc's PTX does to the source's accesses and ptxas undoes: kernel and kind of access.
PTX_ALONE = {
    (one["kernel"], one["access"].replace(" ", "_"))
    for one in json.loads((ROOT / "tests/ptx/ptx_alone.json").read_text())
}


def run(*flags: str) -> dict:
    done = subprocess.run(
        [str(BUILD / "gpubench-model"), "--profile", "--benchmark_format=json", *flags],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["benchmarks"]}


@pytest.fixture(scope="module")
def rows() -> str:
    """A filter: the first row of each concept."""
    if not (BUILD / "gpubench-cuda").exists():
        pytest.skip("gpubench-cuda is not built: there is no PTX")
    listed = subprocess.run(
        [str(BUILD / "gpubench-model"), "--benchmark_list_tests"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    first: dict[str, str] = {}
    for name in listed:
        first.setdefault(name.split("/")[0], name)
    assert set(first) <= {path.stem for path in (ROOT / "bench").glob("*.cu")}
    return "^(" + "|".join(first.values()) + ")$"


@pytest.fixture(scope="module")
def by_source(rows: str) -> dict:
    return run(f"--benchmark_filter={rows}", "--engine=source")


def departs(launch: dict, figure: str) -> bool:
    """Whether the compiled code is known not to keep the source's accesses."""
    kind = "_".join(figure.split("_")[:2])
    known = {name.replace(" ", "_") for name in launch.get("departures", {})}
    return kind in known or (launch["kernel"], kind) in PTX_ALONE


def differences(row: str, source: dict, ptx: dict) -> list[str]:
    found = []
    assert [one["kernel"] for one in source.get("launches", [])] == [
        one["kernel"] for one in ptx.get("launches", [])
    ], row
    for a, b in zip(source.get("launches", []), ptx.get("launches", []), strict=True):
        mine, theirs = a["figures"], b["figures"]
        if mine["traced_blocks"] != theirs["traced_blocks"] < mine["blocks"]:
            continue  # other samples of the grid: their sums are estimates
        for figure in sorted(mine.keys() | theirs.keys()):
            if not figure.endswith(COUNTED) or figure.startswith("local") or departs(a, figure):
                continue
            if mine.get(figure, 0) != pytest.approx(theirs.get(figure, 0), rel=1e-12):
                found.append(
                    f"{row}, {a['kernel']}: {figure} {mine.get(figure)}, {theirs.get(figure)}"
                )
    return found


def compare(by_source: dict, by_ptx: dict) -> None:
    assert by_ptx.keys() == by_source.keys()
    found: list[str] = []
    compared = 0
    for name, row in by_source.items():
        found += differences(name, row, by_ptx[name])
        compared += len(row.get("launches", []))
    assert found == []
    assert compared > len(by_source) / 2


@pytest.mark.parametrize(
    "conduct", [*CONDUCTS, *(pytest.param(more, marks=pytest.mark.release) for more in MORE)]
)
def test_both_engines_count_the_same(conduct: str, rows: str, by_source: dict) -> None:
    compare(by_source, run(f"--benchmark_filter={rows}", f"--engine={conduct}"))


@pytest.mark.release
@pytest.mark.usefixtures("rows")  # where there is PTX
def test_both_engines_count_the_same_in_the_quick_suite() -> None:
    compare(*(run("--suite=quick", f"--engine={engine}") for engine in ("source", "ptx")))


@pytest.mark.usefixtures("rows")
def test_the_result_file_names_the_engine(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    row = "--benchmark_filter=^coalescing/strided_read/stride:1$"
    run("--engine=ptx:late", row, f"--benchmark_out={out}")
    assert json.loads(out.read_text())["context"]["engine"] == "ptx:late"


def test_a_kernel_without_ptx_fails_its_row(tmp_path: Path) -> None:
    """It is an error of one line, never the other engine's answer."""
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "gpubench-model").write_bytes((BUILD / "gpubench-model").read_bytes())
    (copy / "gpubench-model").chmod(0o755)
    text = ".version 9.0\n.target sm_90a\n\0"
    (copy / "gpubench-cuda").write_text(text)
    (copy / "gpubench-cuda").chmod(0o755)
    done = subprocess.run(
        [
            str(copy / "gpubench-model"),
            "--engine=ptx",
            "--benchmark_filter=^coalescing/vector_read/bytes:4$",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no PTX of coalescing::vector_read" in done.stderr


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("sass", "takes source, ptx or"),
        ("ptx:never", "takes late, slow, random=SEED and shift=BYTES"),
        ("ptx:shift=100", "takes a multiple of 128"),
        ("ptx:random=x", "takes a whole number"),
    ],
)
def test_another_engine_is_refused(engine: str, said: str) -> None:
    done = subprocess.run(
        [str(BUILD / "gpubench-model"), f"--engine={engine}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
