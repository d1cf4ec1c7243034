"""One row of each concept on both engines: the same results, and the same counts."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from .conftest import BUILD, ROOT, on_every_architecture

CONDUCTS = ["ptx", "ptx:late,slow,random=1,shift=128"]
MORE = ["ptx:late", "ptx:slow", "ptx:shift=640", "ptx:random=3", "ptx:random=4,late,slow"]
COUNTED = ("requests", "bytes", "sectors", "wavefronts")
# What nvcc's PTX does to the source's accesses and the audit does not know: by kernel and kind of
# access the architectures, or none, for all of them.
PTX_ALONE = {
    (one["kernel"], one["access"].replace(" ", "_")): one.get("architectures")
    for one in json.loads((ROOT / "tests/ptx/ptx_alone.json").read_text())
}


class Run(NamedTuple):
    rows: dict
    architecture: int


def run(*flags: str, folder: Path = BUILD) -> Run:
    done = subprocess.run(
        [str(folder / "gpubench-model"), "--profile", "--benchmark_format=json", *flags],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    found = json.loads(done.stdout)
    architecture = int(found["context"]["compute_capability"].replace(".", ""))
    return Run({row["name"]: row for row in found["benchmarks"]}, architecture)


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
def by_source(rows: str) -> Run:
    return run(f"--benchmark_filter={rows}", "--engine=source")


def departs(launch: dict, figure: str, architecture: int) -> bool:
    """Whether the compiled code is known not to keep the source's accesses."""
    kind = "_".join(figure.split("_")[:2])
    known = {name.replace(" ", "_") for name in launch.get("departures", {})}
    alone = PTX_ALONE.get((launch["kernel"], kind), ())
    return kind in known or alone is None or architecture in alone


def differences(row: str, source: dict, ptx: dict, architecture: int) -> list[str]:
    found = []
    assert [one["kernel"] for one in source.get("launches", [])] == [
        one["kernel"] for one in ptx.get("launches", [])
    ], row
    for a, b in zip(source.get("launches", []), ptx.get("launches", []), strict=True):
        mine, theirs = a["figures"], b["figures"]
        if mine["traced_blocks"] != theirs["traced_blocks"] < mine["blocks"]:
            continue  # other samples of the grid: their sums are estimates
        for figure in sorted(mine.keys() | theirs.keys()):
            if not figure.endswith(COUNTED) or figure.startswith("local"):
                continue
            if departs(a, figure, architecture):
                continue
            if mine.get(figure, 0) != pytest.approx(theirs.get(figure, 0), rel=1e-12):
                found.append(
                    f"{row}, {a['kernel']}: {figure} {mine.get(figure)}, {theirs.get(figure)}"
                )
    return found


def compare(by_source: Run, by_ptx: Run) -> None:
    assert by_ptx.rows.keys() == by_source.rows.keys()
    found: list[str] = []
    compared = 0
    for name, row in by_source.rows.items():
        found += differences(name, row, by_ptx.rows[name], by_source.architecture)
        compared += len(row.get("launches", []))
    assert found == []
    assert compared > len(by_source.rows) / 2


@pytest.mark.parametrize(
    "conduct", [*CONDUCTS, *(pytest.param(more, marks=pytest.mark.release) for more in MORE)]
)
def test_both_engines_count_the_same(conduct: str, rows: str, by_source: Run) -> None:
    compare(by_source, run(f"--benchmark_filter={rows}", f"--engine={conduct}"))


@pytest.mark.release
@pytest.mark.usefixtures("rows")  # where there is PTX
def test_both_engines_count_the_same_in_the_quick_suite() -> None:
    compare(*(run("--suite=quick", f"--engine={engine}") for engine in ("source", "ptx")))


@pytest.fixture(scope="module")
def every_architecture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program beside PTX of every architecture."""
    built = BUILD.parent / "build-all-architectures/gpubench-cuda"
    if not built.exists():
        pytest.skip(f"{built} is not built")
    folder = tmp_path_factory.mktemp("every-architecture")
    shutil.copy(BUILD / "gpubench-model", folder)
    shutil.copy(built, folder)
    return folder


@pytest.mark.release
@pytest.mark.parametrize("conduct", [*CONDUCTS, *MORE])
@on_every_architecture
def test_both_engines_count_the_same_on_every_architecture(
    device: str, conduct: str, rows: str, every_architecture: Path
) -> None:
    flags = (f"--benchmark_filter={rows}", f"--device=model:{device}")
    source, ptx = (
        run(*flags, f"--engine={engine}", folder=every_architecture)
        for engine in ("source", conduct)
    )
    compare(source, ptx)


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
