"""The kernels that measure a peak are, compiled, what they are meant to be: one unit's instructions
and next to nothing else in the loop, and no local memory."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "harness/platform/model/audit"))

from disassembly import architecture_of  # noqa: E402
from sites import output_of, tool  # noqa: E402

# The unit's instruction, and how many of it a round of the loop has.
CHAINS = {"Fp32": "FFMA", "Fp64": "DFMA", "Fp16x2": "HFMA2", "Bf16x2": "HFMA2", "Int32": "IMAD"}
MATRICES = {
    "Fp16": ("HMMA", 64),
    "Bf16": ("HMMA", 64),
    "Tf32": ("HMMA", 64),
    "Int8": ("IMMA", 64),
    "TensorFp64": ("DMMA", 32),
}
TILES = {"Fp16": "HGMMA", "Bf16": "HGMMA", "Tf32": "HGMMA", "Fp8": "QGMMA", "Int8": "IGMMA"}
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_]*)\S*\s*(.*?);")
LABEL = re.compile(r"\s*(\.L_\w+):")


def functions(text: str) -> dict[str, str]:
    """The disassembly of each function by its mangled name."""
    found = {}
    for part in re.split(r"^\.text\.", text, flags=re.MULTILINE)[1:]:
        name, colon, body = part.partition(":\n")
        if colon and "\n" not in name:
            found[name] = body
    return found


def loops(body: str) -> list[Counter[str]]:
    """The instructions of each backward branch's loop."""
    labels: dict[str, int] = {}
    code: list[str] = []
    found = []
    for line in body.splitlines():
        if m := LABEL.match(line):
            labels[m[1]] = len(code)
        elif m := INSTRUCTION.match(line):
            code.append(m[2])
            target = re.search(r"`\((\.L_\w+)\)", m[3]) if m[2] == "BRA" else None
            begin = labels.get(target[1], len(code)) if target else len(code)
            if begin < len(code) - 1:
                found.append(Counter(code[begin:]))
    return found


@pytest.fixture(scope="module")
def compiled() -> dict[str, dict[str, str]]:
    """By architecture, the functions of compute_peak."""
    if not (BUILD / "gpubench-cuda").exists():
        pytest.skip(f"gpubench-cuda is not built in {BUILD}")
    result: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = (BUILD / "gpubench-cuda").resolve()
        output_of(tool("cuobjdump"), "-xelf", "all", program, cwd=Path(folder))
        for cubin in Path(folder).glob("*.cubin"):
            if b"N12compute_peak" in cubin.read_bytes():
                text = output_of(tool("nvdisasm"), "-c", "-ndf", cubin)
                result.setdefault(architecture_of(cubin), {}).update(functions(text))
    assert result, "no cubin has kernels of compute_peak"
    return result


def bodies(compiled: dict[str, dict[str, str]], least: int = 75) -> list[tuple[str, str, str]]:
    """Architecture, kernel as "chains<Fp32>", disassembly."""
    found = []
    for architecture, by_name in compiled.items():
        for name, body in by_name.items():
            m = re.match(r"_ZN12compute_peak\d+(\w+?)INS_\d+(\w+?)EEEvPd$", name)
            if m and int(architecture) >= least:
                found.append((architecture, f"{m[1]}<{m[2]}>", body))
    assert found
    return found


def test_nothing_is_kept_in_local_memory(compiled) -> None:
    for architecture, kernel, body in bodies(compiled):
        assert not re.search(r"\b(LDL|STL)\b", body), (architecture, kernel)


@pytest.mark.parametrize("unit", CHAINS)
def test_a_round_of_chains_is_512_multiply_adds(compiled, unit: str) -> None:
    # Turing has no bfloat16 of its own.
    least = 80 if unit == "Bf16x2" else 75
    for architecture, kernel, body in bodies(compiled, least):
        if kernel != f"chains<{unit}>":
            continue
        loop = max(loops(body), key=lambda loop: loop.total())
        assert loop[CHAINS[unit]] == 512, (architecture, loop)
        # Where a unit is slow, the compiler pads.
        assert loop.total() - loop["NOP"] <= 512 / 0.98, (architecture, loop)


@pytest.mark.parametrize("unit", ["Fp16x2", "Bf16x2"])
def test_pairs_of_halves_take_both_of_hoppers_pipes(compiled, unit: str) -> None:
    if "90" not in compiled:
        pytest.skip("not compiled for sm_90a")
    (body,) = (b for a, kernel, b in bodies(compiled) if a == "90" and kernel == f"chains<{unit}>")
    # Some more are constants that are loaded by the same instruction.
    assert 256 <= body.count("HFMA2.MMA") <= 256 + 16


@pytest.mark.parametrize("dtype", MATRICES)
def test_a_round_of_mma_is_nothing_else(compiled, dtype: str) -> None:
    instruction, number = MATRICES[dtype]
    for architecture, kernel, body in bodies(compiled, 80):
        # Blackwell's data-centre parts have other ways to some of them.
        if kernel != f"mma<{dtype}>" or 100 <= int(architecture) < 120:
            continue
        # Double precision takes eight of the smaller shape where there is no other.
        eight_fold = dtype == "TensorFp64" and int(architecture) < 90
        loop = max(loops(body), key=lambda loop: loop.total())
        waits = loop.total() - loop["NOP"]
        assert loop[instruction] >= number * (8 if eight_fold else 1), (architecture, loop)
        assert waits - loop[instruction] <= 8, (architecture, loop)


@pytest.mark.parametrize("dtype", TILES)
def test_hopper_multiplies_tiles_by_wgmma(compiled, dtype: str) -> None:
    if "90" not in compiled:
        pytest.skip("not compiled for sm_90a")
    (body,) = (b for a, kernel, b in bodies(compiled) if a == "90" and kernel == f"wgmma<{dtype}>")
    loop = max(loops(body), key=lambda loop: loop[TILES[dtype]])
    assert loop[TILES[dtype]] == 16, loop
    assert not loop.keys() & {"LDG", "LDS", "STS", "WARPSYNC"}, loop
