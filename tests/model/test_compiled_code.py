"""What nvcc makes of kernels, where reading the source does not tell: size, and what of an
architecture the code knows. One file at a time is compiled, so that it takes seconds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from sass import INSTRUCTION, ROOT, code_of, nvcc, text_of

BYTES = 16  # an instruction
# Smaller than the instruction cache of an SM of any architecture (Turing's, the smallest of those
# that were measured, has 46 KB before constants' cache; a partition's own has 12 KB and more).
MOST_BYTES = 16384
# Hardly anything is otherwise for it than for sm_100a.
LATER = pytest.param("sm_103a", marks=pytest.mark.release)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_all_paths_of_a_branch_fit_in_the_instruction_cache(
    tmp_path: Path, architecture: str
) -> None:
    kernels = ROOT / "kernels/divergence.cuh"
    cubin = nvcc(kernels, tmp_path / "kernels.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    (branches,) = [text for name, text in code.items() if "branches" in name]
    instructions = INSTRUCTION.findall(branches)
    assert int(instructions[-1][0], 16) + BYTES <= MOST_BYTES
    # Every path still has a place of its own from which it goes along, or two would be one.
    assert sum(name == "CALL" for _, name in instructions) >= 32


def code_of_peaks(
    folder: Path, kernel: str, types: Iterable[str], architecture: str
) -> tuple[Path, dict[str, list[str]]]:
    """A compiled file of the peaks' kernel for these types, and each type's instructions."""
    source = folder / "peaks.cu"
    source.write_text(
        f'#include "kernels/compute_peak/{kernel}.cuh"\n'
        + "".join(
            f"template __global__ void compute_peak::{kernel}<compute_peak::{dtype}>(double*);\n"
            for dtype in types
        )
    )
    cubin = nvcc(source, folder / "peaks.cubin", "-cubin", f"-arch={architecture}")
    code = code_of(cubin)
    found = {}
    for dtype in types:
        (found[dtype],) = [c for name, c in code.items() if f"INS_{len(dtype)}{dtype}E" in name]
    return cubin, found


def of_switch(folder: Path) -> Path:
    """The kernels whose sums NVLink's switches take, in each dtype."""
    source = folder / "sums.cu"
    text = '#include "kernels/all_reduce/in_switch.cuh"\nnamespace all_reduce {\n'
    for dtype in ("float", "__half", "__nv_bfloat16"):
        shares = f"const {dtype}*, {dtype}*, std::size_t, unsigned, unsigned"
        text += f"template __global__ void add_in_switch<{dtype}>({shares});\n"
        to_all = f"const {dtype}*, {dtype}*, std::size_t"
        text += f"template __global__ void add_to_all<{dtype}>({to_all});\n"
    source.write_text(text + "}\n")
    return source


# The unit's instruction for each type; integers are of sm_100a alone.
TENSOR_MEMORY = {
    "Fp16": "UTCHMMA",
    "Bf16": "UTCHMMA",
    "Tf32": "UTCHMMA",
    "Fp8": "UTCQMMA",
    "Int8": "UTCIMMA",
}


@pytest.mark.parametrize("architecture", ["sm_100a", LATER])
def test_one_thread_asks_for_products_in_tensor_memory(tmp_path: Path, architecture: str) -> None:
    _, code = code_of_peaks(tmp_path, "tcgen05", TENSOR_MEMORY, architecture)
    for dtype, instruction in TENSOR_MEMORY.items():
        counts = Counter(code[dtype])
        if dtype == "Int8" and architecture == "sm_103a":
            assert not [i for i in counts if i.startswith("UTC") and i.endswith("MMA")], dtype
            continue
        # Those of a round of the loop, and the commit behind all rounds.
        assert (counts[instruction], counts["UTCBAR"]) == (16, 1), (dtype, counts)
        assert counts["LDTM"] in (1, 8), (dtype, counts)  # a loop, or its eight turns
        assert not counts.keys() & {"LDL", "STL", "HMMA", "IMMA", "DFMA"}, (dtype, counts)


def text_of_pairs(
    folder: Path, kernel: str, types: Iterable[str], architecture: str
) -> dict[str, str]:
    """The disassembly of each type's kernel, modifiers and all."""
    cubin, _ = code_of_peaks(folder, kernel, types, architecture)
    code = text_of(cubin)
    found = {}
    for dtype in types:
        (found[dtype],) = [c for name, c in code.items() if f"INS_{len(dtype)}{dtype}E" in name]
    return found


def is_of_two_blocks_throughout(body: str) -> bool:
    """All products, copies of scales and commits are a pair's, and the commit arrives in both."""
    of_one = re.search(r" (UTC\w+MMA(?!\.2CTA)\S*|UTCCP(?!\S*\.2CTA)\S*|UTCBAR) ", body)
    return of_one is None and body.count(" UTCBAR.2CTA.MULTICAST ") == 1


@pytest.mark.parametrize("architecture", ["sm_100a", LATER])
def test_one_thread_asks_for_the_products_of_a_pair(tmp_path: Path, architecture: str) -> None:
    types = [t for t in TENSOR_MEMORY if (t, architecture) != ("Int8", "sm_103a")]
    for dtype, body in text_of_pairs(tmp_path, "tcgen05_pair", types, architecture).items():
        assert body.count(f" {TENSOR_MEMORY[dtype]}.2CTA ") == 16, dtype
        assert is_of_two_blocks_throughout(body), dtype
        assert body.count(" UCGABAR_WAIT ") == 3, dtype
        assert not re.search(r" (LDL|STL|HMMA|IMMA|DFMA)\b", body), dtype


# The same with block scales, which six copies bring.
WITH_SCALES_IN_TENSOR_MEMORY = {"Mxfp8": "UTCQMMA", "Nvfp4": "UTCOMMA"}


@pytest.mark.parametrize("architecture", ["sm_100a", LATER])
def test_one_thread_copies_scales_and_asks_for_products(tmp_path: Path, architecture: str) -> None:
    types = WITH_SCALES_IN_TENSOR_MEMORY
    _, code = code_of_peaks(tmp_path, "scaled_tcgen05", types, architecture)
    for dtype, instruction in types.items():
        counts = Counter(code[dtype])
        assert (counts[instruction], counts["UTCCP"], counts["UTCBAR"]) == (16, 6, 1), counts
        assert counts["LDTM"] in (1, 6), counts  # a loop, or its six turns
        assert not counts.keys() & {"LDL", "STL", "HMMA", "DFMA"}, counts


@pytest.mark.parametrize(
    ("architecture", "four_scales"), [("sm_100a", ".4X"), ("sm_103a", ".BLOCK16")]
)
def test_one_thread_copies_the_scales_of_a_pair(
    tmp_path: Path, architecture: str, four_scales: str
) -> None:
    products = {"Mxfp8": "UTCQMMA.2CTA", "Nvfp4": f"UTCOMMA.2CTA{four_scales}"}
    bodies = text_of_pairs(tmp_path, "scaled_tcgen05_pair", products, architecture)
    for dtype, body in bodies.items():
        assert body.count(f" {products[dtype]} ") == 16, dtype
        assert body.count(" UTCCP.T.S.2CTA.4x32dp128bit ") == 6, dtype
        assert is_of_two_blocks_throughout(body), dtype
        assert body.count(" UCGABAR_WAIT ") == 3, dtype
        assert not re.search(r" (LDL|STL|HMMA|DFMA)\b", body), dtype


# The unit's instruction with scales, of 8 bits and of 4: 64 in a round of the loop, and no other.
WITH_SCALES = {"Mxfp8": "QMMA.SF.16832", "Nvfp4": "OMMA.SF.16864"}


@pytest.mark.parametrize(
    "architecture", ["sm_120a", pytest.param("sm_121a", marks=pytest.mark.release)]
)
def test_products_with_block_scales_are_one_instruction(tmp_path: Path, architecture: str) -> None:
    cubin, code = code_of_peaks(tmp_path, "scaled_mma", WITH_SCALES, architecture)
    listing = "".join(text_of(cubin).values())
    for dtype, instruction in WITH_SCALES.items():
        counts = Counter(code[dtype])
        assert counts[instruction.partition(".")[0]] == 64, counts
        assert listing.count(f" {instruction}.") == 64, listing
        assert not counts.keys() & {"LDL", "STL", "HMMA", "LDS", "SHFL"}, counts


@pytest.mark.parametrize("architecture", ["sm_100a", LATER])
def test_the_rung_of_tcgen05_has_the_copy_engine_and_the_tensor_cores(
    tmp_path: Path, architecture: str
) -> None:
    rung = ROOT / "kernels/gemm_ladder/tcgen05.cuh"
    code = code_of(nvcc(rung, tmp_path / "rung.cubin", "-cubin", f"-arch={architecture}"))
    (body,) = [c for name, c in code.items() if "gemm_ladder7tcgen05E" in name]
    counts = Counter(body)
    assert counts["UTCHMMA"] % 4 == 0, counts
    assert counts["UTMALDG"] % 2 == 0, counts
    # Two loads of 32 columns, for eight stores of 16 bytes.
    assert counts["LDTM"] >= 2, counts
    assert counts["STG"] >= 8, counts
    assert counts["STS"] >= 8, counts
    assert counts["UTCHMMA"] > 0, counts
    assert counts["UTMALDG"] > 0, counts
    assert not counts.keys() & {"LDL", "STL", "HMMA", "LDG"}, counts


@pytest.mark.parametrize("architecture", ["sm_100a", LATER])
def test_the_rung_of_pairs_is_of_two_blocks_throughout(tmp_path: Path, architecture: str) -> None:
    rung = ROOT / "kernels/gemm_ladder/tcgen05_pair.cuh"
    cubin = nvcc(rung, tmp_path / "rung.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    (body,) = [text for name, text in code.items() if "gemm_ladder12tcgen05_pairE" in name]
    products, copies = body.count(" UTCHMMA.2CTA "), body.count(" UTMALDG.2D.2CTA ")
    assert products > 0
    assert products % 4 == 0
    assert copies > 0
    assert copies % 2 == 0
    assert body.count(" UTCBAR.2CTA.MULTICAST ") >= 2
    # No copy arrives in its own block, no product is of one, and no commit arrives in one alone.
    assert not re.search(r" (UTMALDG\.2D|UTC\w+MMA|UTCBAR|UTCBAR\.2CTA) ", body)
    # What acquires in the cluster's scope empties L1: the three meetings, and waits for mbarriers.
    assert body.count(" CCTL.IVALL ") > body.count(" UCGABAR_WAIT ") == 3
    assert body.count(" LDTM.x32 ") >= 2
    assert body.count(" STG.E.128 ") >= 8
    assert not re.search(r" (LDL|STL|HMMA|LDG)\b", body)


@pytest.mark.parametrize("architecture", ["sm_100a", LATER])
def test_attention_multiplies_weights_from_tensor_memory(tmp_path: Path, architecture: str) -> None:
    source = tmp_path / "attention.cu"
    maps = ", ".join(3 * ["const __grid_constant__ CUtensorMap"])
    arguments = f"{maps}, bf16_rows::element*, unsigned, unsigned, float, bool"
    source.write_text(
        '#include "kernels/attention/tcgen05.cuh"\n'
        + "".join(
            f"template __global__ void attention::tcgen05<{d}>({arguments});\n" for d in (64, 128)
        )
    )
    cubin = nvcc(source, tmp_path / "attention.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    for head_dim in (64, 128):
        (body,) = [text for name, text in code.items() if f"ILj{head_dim}E" in name]
        # For each of two tiles of queries: along head_dim, and along 128 keys.
        assert len(re.findall(r" UTCHMMA gdesc\S+ gdesc", body)) == 2 * head_dim // 16
        assert len(re.findall(r" UTCHMMA tmem\S+ gdesc", body)) == 2 * 128 // 16
        # Scores; results that are scaled, and those that are stored. Weights, and scaled results.
        assert body.count(" LDTM.x32 ") == 4 + 1 + 2
        assert body.count(" STTM.x32 ") == 2 + 1
        assert " USETMAXREG.TRY_ALLOC.CTAPOOL " in body
        assert body.count(" MUFU.EX2 ") == 128 + 1
        assert not re.search(r" (LDL|STL|HMMA|LDG)\b", body)


@pytest.mark.parametrize("architecture", ["sm_90a", "sm_100a", LATER])
def test_a_multicast_is_one_instruction_of_the_copy_engine(
    tmp_path: Path, architecture: str
) -> None:
    source = tmp_path / "tiles.cu"
    source.write_text(
        '#include "kernels/clusters/multicast.cuh"\n'
        "template __global__ void clusters::bring<true>(const uint4*, unsigned, unsigned*);\n"
        "template __global__ void clusters::bring<false>(const uint4*, unsigned, unsigned*);\n"
        "__global__ void box(const __grid_constant__ CUtensorMap map) {\n"
        "  extern __shared__ unsigned char to[];\n"
        "  bulk_copy_box_multicast(to, &map, 0, 0, reinterpret_cast<Mbarrier*>(to + 8192), 3);\n"
        "}\n"
    )
    cubin = nvcc(source, tmp_path / "tiles.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    (multicast,) = [text for name, text in code.items() if "bringILb1E" in name]
    (separate,) = [text for name, text in code.items() if "bringILb0E" in name]
    (box,) = [text for name, text in code.items() if "box" in name]
    for text, instruction in ((multicast, r"UBLKCP\.S\.G"), (box, r"UTMALDG\.2D")):
        assert re.search(rf"{instruction}\.MULTICAST\b", text)
        assert not re.search(rf"{instruction}\s", text)
    assert re.search(r"UBLKCP\.S\.G\s", separate)
    assert "MULTICAST" not in separate
    # The wait for a tile that other blocks bring is in the cluster's scope.
    assert multicast.count(" CCTL.IVALL ") > separate.count(" CCTL.IVALL ")
    assert not re.search(r"\b(LDL|STL|LDG)\b", multicast + separate)


@pytest.mark.parametrize(
    "architecture",
    [
        "sm_90a",
        "sm_100a",
        *(pytest.param(a, marks=pytest.mark.release) for a in ("sm_90", "sm_103a", "sm_120a")),
    ],
)
def test_the_switch_is_asked_by_one_instruction_for_16_bytes(
    tmp_path: Path, architecture: str
) -> None:
    """A load that adds is one of its own; what stores to all is a store like any other."""
    cubin = nvcc(of_switch(tmp_path), tmp_path / "sums.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    in_fp32 = r"\.(F32ADD|HPADD)" if architecture.startswith("sm_90") else r"\.HPADD"
    for dtype, load, add in (
        ("IfE", r"\.ADD\.F32x4", "F32x4"),
        ("I6__halfE", in_fp32 + r"\.F16x8", "F16x8"),
        ("I13__nv_bfloat16E", in_fp32 + r"\.BF16x8", "BF16x8"),
    ):
        (shares,) = [text for name, text in code.items() if f"add_in_switch{dtype}" in name]
        assert len(re.findall(rf"\bLDGMC\.E{load}\.RN\.STRONG\.SYS\b", shares)) == 1, shares
        assert len(re.findall(r"\bSTG\.E\.128\.STRONG\.SYS\b", shares)) == 1, shares
        assert not re.search(r"\b(LDG|LDL|STL|RED|REDG|ATOMG)\b", shares)
        (to_all,) = [text for name, text in code.items() if f"add_to_all{dtype}" in name]
        assert len(re.findall(rf"\bREDG\.E\.ADD\.{add}\b", to_all)) == 1, to_all
        assert len(re.findall(r"\bLDG\.E\.128\b", to_all)) == 1, to_all
        assert not re.search(r"\b(LDGMC|STG|LDL|STL|ATOMG)\b", to_all)


@pytest.mark.parametrize(
    "architecture",
    ["sm_89", *(pytest.param(a, marks=pytest.mark.release) for a in ("sm_75", "sm_80", "sm_86"))],
)
def test_before_hopper_it_is_a_trap(tmp_path: Path, architecture: str) -> None:
    cubin = nvcc(of_switch(tmp_path), tmp_path / "sums.cubin", "-cubin", f"-arch={architecture}")
    code = code_of(cubin)
    assert len(code) == 6
    for name, body in code.items():
        assert "BPT" in body, name
        assert not {"LDGMC", "STG", "REDG", "RED"} & set(body), name


@pytest.mark.parametrize(
    ("marker", "architecture", "answers"),
    [
        ("multimem", "compute_89", [0]),
        ("multimem", "compute_90", [1]),
        ("multimem", "compute_120", [1]),
        ("multicast", "compute_90", [0]),
        ("multicast", "compute_90a", [1]),
        ("multicast", "compute_103a", [1]),
        ("multicast", "compute_120", [0]),
        ("wgmma", "compute_90", [0]),
        ("wgmma", "compute_90a", [1]),
        ("tcgen05", "compute_90a", [0, 0]),
        ("tcgen05", "compute_100", [0, 0]),
        ("tcgen05", "compute_100a", [1, 1]),
        ("tcgen05", "compute_103a", [1, 0]),
        ("tcgen05", "compute_120", [0, 0]),
        ("block_scales", "compute_100a", [0]),
        ("block_scales", "compute_120", [0]),
        ("block_scales", "compute_120a", [1]),
        ("block_scales", "compute_121a", [1]),
    ],
)
def test_code_knows_what_it_was_compiled_for(
    tmp_path: Path, marker: str, architecture: str, answers: list[int]
) -> None:
    source = ROOT / f"kernels/common/{marker}_marker.cuh"
    text = nvcc(source, tmp_path / "marker.ptx", "-ptx", f"-arch={architecture}").read_text()
    kernels = sorted(re.split(r"\.entry ", text)[1:], key=lambda kernel: len(kernel.split("(")[0]))
    stored = re.findall(r"st\.global\.u32\s+\[\S+\], (\S+);", "".join(kernels))
    values = [
        re.search(rf"mov\.[bu]32\s+{re.escape(s)}, (\d+);", k)
        for s, k in zip(stored, kernels, strict=True)
    ]
    found = [int(v[1] if v else s) for s, v in zip(stored, values, strict=True)]
    assert found == answers, text


@pytest.mark.parametrize(
    ("instruction", "sign"),
    [
        ("wgmma", "wgmma_"),
        ("tcgen05", "tcgen05_"),
        ("block_scaled_mma", "<block_scaled_mma.hpp>"),
        ("multicast", "_multicast("),
        ("multimem", "multimem_"),
    ],
)
def test_rows_ask_for_their_instruction_before_they_run(instruction: str, sign: str) -> None:
    kernels = sorted((ROOT / "kernels").rglob("*.cuh"))
    users = {
        path.relative_to(ROOT / "kernels").parts[0].removesuffix(".cuh")
        for path in kernels
        if sign in path.read_text()
    } - {"common"}
    assert users
    silent = [
        user
        for user in sorted(users)
        if not any(
            re.search(rf"why_no_(scaled_)?{instruction}\(", path.read_text())
            for path in (
                ROOT / "bench" / f"{user}.cu",
                *(ROOT / "harness/bench" / user).glob("*.hpp"),
            )
        )
    ]
    assert not silent
