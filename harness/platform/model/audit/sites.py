"""Sites of access: lines of source, and what the emulator sees there."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from os.path import normpath
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parents[4]


class AuditError(Exception):
    """What stops the audit, in one line."""


@dataclass(frozen=True)
class Place:
    file: str  # from the top of the checkout
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class Site:
    """Accesses of one kind at one place: their widths [bytes], and how many of each."""

    widths: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    in_loop: bool = False


Sites = dict[tuple[str, Place], Site]  # ("global load", where)


@dataclass
class Seen:
    """A kernel as the emulator saw it."""

    sites: Sites
    studied: dict[str, list[str]]  # by concept: the kinds of access that its rows count


def tool(name: str) -> str:
    """The toolkit's own, else what pip installed beside this Python."""
    places = [
        *(str(Path(nvcc).resolve().parent) for nvcc in [which("nvcc")] if nvcc),
        "/usr/local/cuda/bin",
        *(str(p) for p in Path(sysconfig.get_path("purelib")).glob("nvidia/*/bin")),
    ]
    for folder in [None, *places]:
        if found := which(name, path=folder):
            return found
    raise AuditError(f"there is no {name}: neither in PATH, nor in the toolkit, nor from pip")


def output_of(*words: str | Path, text: str | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        [str(w) for w in words], input=text, capture_output=True, text=True, check=False, cwd=cwd
    )
    if done.returncode != 0:
        raise AuditError(f"{Path(words[0]).name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


@cache
def our_file(file: str) -> str:
    """From the top of the checkout, wherever it was compiled (a compiler cache may have served
    another checkout); empty for what is not ours to compare: CUDA's headers, the model's stand-ins
    for them, and what the two kinds of device answer differently by design."""
    parts = Path(normpath(file)).parts
    for i, part in enumerate(parts):
        if part in ("bench", "kernels", "harness") and (ROOT / Path(*parts[i:])).is_file():
            path = Path(*parts[i:])
            return "" if path.is_relative_to("harness/platform") else str(path)
    return ""


def place_of(file: str, line: int) -> Place | None:
    return Place(name, line) if (name := our_file(file)) else None


def lines_of(program: Path, addresses: list[int]) -> dict[int, Place]:
    """The innermost place of our own that each address was compiled from."""
    # The address is that of the next instruction, after the call.
    text = "".join(f"{address - 1:#x}\n" for address in addresses)
    result: dict[int, Place] = {}
    address = -1
    for line in output_of("addr2line", "-a", "-i", "-e", program, text=text).splitlines():
        if line.startswith("0x"):
            address = int(line, 16) + 1
        elif address not in result:
            file, _, number = line.partition(" ")[0].rpartition(":")
            if number.isdigit() and (place := place_of(file, int(number))):
                result[address] = place
    return result


def seen_by_emulator(build: Path) -> dict[str, Seen]:
    """By the kernel's name."""
    program = build / "gpubench-sites"
    kernels = json.loads(output_of(program))["kernels"]
    addresses = sorted({s["code"] for k in kernels.values() for s in k["sites"]})
    places = lines_of(program, addresses)
    result: dict[str, Seen] = {}
    for name, kernel in kernels.items():
        sites: Sites = {}
        for s in kernel["sites"]:
            if s["code"] not in places:
                raise AuditError(f"{name}: no line is known for an access of the model's program")
            site = sites.setdefault((s["access"], places[s["code"]]), Site())
            site.widths[s["bytes"]] += s["times"]
        result[name] = Seen(sites, kernel["studied"])
    return result
