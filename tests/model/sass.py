"""Compiles a file of kernels by nvcc alone, and reads what became of each kernel."""

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


def text_of(cubin: Path) -> dict[str, str]:
    """The SASS of each function by its mangled name, as cuobjdump prints it."""
    functions = re.split(r"Function : (\S+)", output_of(tool("cuobjdump"), "-sass", cubin))[1:]
    return dict(zip(functions[::2], functions[1::2], strict=True))


def code_of(cubin: Path) -> dict[str, list[str]]:
    """The instructions of each function by its mangled name."""
    return {
        name: [instruction for _, instruction in INSTRUCTION.findall(text)]
        for name, text in text_of(cubin).items()
    }
