"""What nvcc makes of a whole product with block scales by tcgen05."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sass import nvcc, text_of

# The products of a step, and the copies of its scales.
STEP = {
    ("Mxfp8", "sm_100a"): ("UTCQMMA", 3),
    ("Mxfp8", "sm_103a"): ("UTCQMMA", 3),
    ("Nvfp4", "sm_100a"): ("UTCOMMA.4X", 12),
    ("Nvfp4", "sm_103a"): ("UTCOMMA.BLOCK16", 12),
}


@pytest.mark.parametrize("architecture", ["sm_100a", "sm_103a"])
def test_a_step_is_four_products_behind_the_copies_of_its_scales(
    tmp_path: Path, architecture: str
) -> None:
    source = tmp_path / "product.cu"
    maps = ", ".join(2 * ["const __grid_constant__ CUtensorMap"])
    arguments = f"{maps}, const std::uint8_t*, const std::uint8_t*, float*, float, " + ", ".join(
        3 * ["unsigned"]
    )
    source.write_text(
        '#include "kernels/precision/tcgen05.cuh"\n'
        + "".join(
            f"template __global__ void precision::tcgen05<precision::{dtype}>({arguments});\n"
            for dtype in ("Mxfp8", "Nvfp4")
        )
    )
    cubin = nvcc(source, tmp_path / "product.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    for dtype in ("Mxfp8", "Nvfp4"):
        (body,) = [text for name, text in code.items() if dtype in name]
        product, copies = STEP[dtype, architecture]
        asked = re.findall(r" (UTC\w+MMA\S*|UTCCP\S*|UTCBAR) ", body)
        # In that order, and a commit behind them; then that of a tile.
        assert asked[: copies + 5] == copies * ["UTCCP.T.S.4x32dp128bit"] + 4 * [product] + [
            "UTCBAR"
        ]
        assert asked[copies + 5 :] == ["UTCBAR"]
        assert len(re.findall(r" UTMALDG\.2D ", body)) == 2
        assert len(re.findall(r" UBLKCP\.S\.G ", body)) == 3
        # A load of 32 columns, stored 16 bytes at a time, by way of shared memory.
        assert len(re.findall(r" LDTM\.x32 ", body)) == 1
        assert len(re.findall(r" STG\.E\.128 ", body)) == 8
        assert not re.search(r" (LDL|STL|HMMA|LDG)\b", body)


@pytest.mark.parametrize("architecture", ["sm_100a", "sm_103a"])
def test_a_pair_is_of_two_blocks_throughout(tmp_path: Path, architecture: str) -> None:
    source = tmp_path / "product.cu"
    maps = ", ".join(4 * ["const __grid_constant__ CUtensorMap"])
    arguments = f"{maps}, float*, float, unsigned, unsigned, unsigned"
    source.write_text(
        '#include "kernels/precision/tcgen05_pair.cuh"\n'
        + "".join(
            f"template __global__ void precision::tcgen05_pair<precision::{dtype}>({arguments});\n"
            for dtype in ("Mxfp8", "Nvfp4")
        )
    )
    cubin = nvcc(source, tmp_path / "product.cubin", "-cubin", f"-arch={architecture}")
    code = text_of(cubin)
    for dtype in ("Mxfp8", "Nvfp4"):
        (body,) = [text for name, text in code.items() if f"tcgen05_pairINS_5{dtype}" in name]
        product, copies = STEP[dtype, architecture]
        kind, dot, scales = product.partition(".")
        asked = re.findall(r" (UTC\w+MMA\S*|UTCCP\S*|UTCBAR\S*) ", body)
        assert asked == [
            *copies * ["UTCCP.T.S.2CTA.4x32dp128bit"],
            *4 * [f"{kind}.2CTA{dot}{scales}"],
            *2 * ["UTCBAR.2CTA.MULTICAST"],
        ]
        assert len(re.findall(r" UTMALDG\.2D\.2CTA ", body)) == 5
        assert not re.search(r" (LDL|STL|HMMA|LDG|UBLKCP\S*|UTMALDG\.2D)\b(?!\.2CTA)", body)
