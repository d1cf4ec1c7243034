"""What nvcc makes of kernels, where reading the source does not tell: size, and what of an
architecture the code knows. One file at a time is compiled, so that it takes seconds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness/platform/model/audit"))

from sites import AuditError, output_of, tool  # noqa: E402

INSTRUCTION = re.compile(
    r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_]*)", re.MULTILINE
)
BYTES = 16  # an instruction
# Smaller than the instruction cache of an SM of any architecture (Turing's, the smallest of those
# that were measured, has 46 KB before constants' cache; a partition's own has 12 KB and more).
MOST_BYTES = 16384


def nvcc(source: Path, out: Path, *flags: str) -> Path:
    try:
        compiler = tool("nvcc")
    except AuditError:
        pytest.skip("there is no nvcc")
    platform = ROOT / "harness/platform"
    include = [f"-I{folder}" for folder in (ROOT, platform / "include", platform / "gpu/include")]
    subprocess.run(
        [compiler, "-std=c++20", *include, *flags, "-x", "cu", source, "-o", out], check=True
    )
    return out


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_all_paths_of_a_branch_fit_in_the_instruction_cache(
    tmp_path: Path, architecture: str
) -> None:
    kernels = ROOT / "kernels/divergence.cuh"
    cubin = nvcc(kernels, tmp_path / "kernels.cubin", "-cubin", f"-arch={architecture}")
    listing = output_of(tool("cuobjdump"), "-sass", cubin)
    functions = re.split(r"Function : (\S+)", listing)[1:]
    code = dict(zip(functions[::2], functions[1::2], strict=True))
    (branches,) = [text for name, text in code.items() if "branches" in name]
    instructions = INSTRUCTION.findall(branches)
    assert int(instructions[-1][0], 16) + BYTES <= MOST_BYTES
    # Every path still has a place of its own from which it goes along, or two would be one.
    assert sum(name == "CALL" for _, name in instructions) >= 32


@pytest.mark.parametrize(("architecture", "answer"), [("compute_90", 0), ("compute_90a", 1)])
def test_code_knows_whether_it_has_wgmma(tmp_path: Path, architecture: str, answer: int) -> None:
    marker = ROOT / "kernels/common/wgmma_marker.cuh"
    text = nvcc(marker, tmp_path / "marker.ptx", "-ptx", f"-arch={architecture}").read_text()
    stored = re.search(r"st\.global\.u32\s+\[\S+\], (\S+);", text)
    assert stored, text
    value = re.search(rf"mov\.[bu]32\s+{re.escape(stored[1])}, (\d+);", text)
    assert int(value[1] if value else stored[1]) == answer


def test_rows_of_wgmma_ask_before_they_run() -> None:
    users = [
        path
        for path in sorted((ROOT / "kernels").glob("*.cuh"))
        for text in [path.read_text()]
        if "wgmma" in text
    ]
    assert users
    silent = [
        path.stem
        for path in users
        if "why_no_wgmma()" not in (ROOT / "bench" / f"{path.stem}.cu").read_text()
    ]
    assert not silent
