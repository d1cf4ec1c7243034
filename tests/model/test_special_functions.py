"""The special-function unit's operations by function, as special_functions.h has them, are those of
the code that nvcc makes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness/platform/model/audit"))

from sites import tool  # noqa: E402

HEADER = ROOT / "harness/platform/model/include/special_functions.h"
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
KERNEL = """
extern "C" __global__ void k{number}(float* out, float x, float y) {{ *out = {call}; }}
"""


def table() -> dict[str, int]:
    """Operations by call, as the header counts them."""
    calls = {}
    for lists, arguments in (("LIBM|CUDA", "x"), ("LIBM_OF_TWO|CUDA_OF_TWO", "x, y")):
        for block in re.findall(
            rf"#define GPUBENCH_SPECIAL_OF_(?:{lists})\(X\)((?:.*\\\n)*.*\n)", HEADER.read_text()
        ):
            for name, operations in re.findall(r"X\((\w+), (\d)\)", block):
                calls[f"{name}({arguments})"] = int(operations)
    return calls


def disassembly(calls: list[str], architecture: str, folder: Path) -> dict[str, list[str]]:
    """The unit's instructions of each call, outside the subroutines of slow paths."""
    source, cubin = folder / "k.cu", folder / "k.cubin"
    source.write_text("".join(KERNEL.format(number=i, call=c) for i, c in enumerate(calls)))
    subprocess.run(
        [NVCC, "-O3", "-std=c++20", f"-arch=sm_{architecture}", "-cubin", "-o", cubin, source],
        check=True,
    )
    text = subprocess.run(
        [tool("nvdisasm"), cubin], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for section in re.split(r"\.section\s+\.text\.k", text)[1:]:
        number = int(re.match(r"\d+", section)[0])
        body = re.split(r"\n\s*\.type\s+\$", section)[0]
        found[calls[number]] = re.findall(r"(@!?U?P\w+ +)?MUFU\.(\w+)", body)
    return found


@pytest.mark.parametrize("architecture", ["75", "90a", "120"])
def test_operations_are_those_of_the_compiled_code(architecture: str, tmp_path: Path) -> None:
    if not Path(NVCC).exists():
        pytest.skip("no nvcc")
    counted = table()
    assert len(counted) == 29
    free = ["sinf(x)", "cosf(x)", "logf(x)", "log2f(x)"]
    found = disassembly([*counted, "erff(x)", *free], architecture, tmp_path)
    # erff's one is for some arguments only.
    [(predicate, operation)] = found.pop("erff(x)")
    assert predicate.strip().startswith("@")
    assert operation == "EX2"
    executed = {call: len(operations) for call, operations in found.items()}
    assert executed == {**counted, **dict.fromkeys(free, 0)}
