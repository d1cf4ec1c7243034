"""What the compiler made of each kernel: its accesses, registers and memory."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from sites import AuditError, Place, Site, Sites, output_of, place_of, tool

# What CUDA itself keeps of a block's shared memory, which counts as the kernel's from sm_90 on.
RESERVED_SHARED = 1024


@dataclass
class Compiled:
    """A kernel for one architecture."""

    registers: int = 0
    static_shared_bytes: int = 0
    local_bytes: int = 0  # a thread has
    local_load_bytes: int = 0  # and moves, once through the code
    local_store_bytes: int = 0
    spills: dict[str, int] = field(default_factory=dict)  # in a turn of the loops that compute
    instructions: set[str] = field(default_factory=set)  # without their suffixes
    sites: Sites = field(default_factory=dict)


INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)")
LOCATION = re.compile(r'\s*//## File "([^"]+)", line (\d+)')
BRANCH = re.compile(r"`\((\.L_[\w]+)\)")
ACCESSES = {
    "LDG": ["global load"],
    "LDGMC": ["global load"],
    "LD": ["global load"],
    "LDGSTS": ["global load", "shared store"],
    "LDS": ["shared load"],
    "LDSM": ["shared load"],
    "STG": ["global store"],
    "ST": ["global store"],
    "STS": ["shared store"],
    "STSM": ["shared store"],
    "ATOM": ["global atomic"],
    "ATOMG": ["global atomic"],
    "RED": ["global atomic"],
    "REDG": ["global atomic"],
    "ATOMS": ["shared atomic"],
}


# Several numbers by one operation, as a switch takes them: F32x4, BF16x8.
VECTOR = re.compile(r"B?F(16|32)x(\d)")


def width_of(parts: list[str]) -> int:
    """Bytes that a lane moves, from the suffixes of an instruction."""
    if parts[0] in ("LDSM", "STSM"):
        return 16  # a lane names a row of a matrix
    for part in parts[1:]:
        if vector := VECTOR.fullmatch(part):
            return int(vector[1]) * int(vector[2]) // 8
        if part in ("U8", "S8"):
            return 1
        if part in ("U16", "S16"):
            return 2
        if part in ("64", "F64", "U64", "S64"):
            return 8
        if part == "128":
            return 16
        if part == "256":
            return 32
    return 4


MULTIPLY_ADDS = {"FFMA": 1, "FFMA2": 2, "DFMA": 1, "HFMA2": 1}


class Reader:
    """Reads `nvdisasm -gi`: the memory instructions of each function, by its mangled name."""

    def __init__(self) -> None:
        self.functions: dict[str, Compiled] = {}
        self._begin(Compiled())

    def _begin(self, function: Compiled) -> None:
        self.function = function
        self.labels: dict[str, int] = {}
        self.new_labels: list[str] = []  # of the instruction that follows
        self.loops: list[tuple[int, int]] = []
        self.found: list[tuple[int, str, int, Place]] = []
        self.counted: list[tuple[int, str, int]] = []  # offset, what, how much
        self.place: Place | None = None
        self.in_chain = False

    def _end(self) -> None:
        for offset, access, width, place in self.found:
            site = self.function.sites.setdefault((access, place), Site())
            site.widths[width] += 1
            site.in_loop |= any(begin <= offset <= end for begin, end in self.loops)

        self.function.spills = self._spills()

    def _spills(self) -> dict[str, int]:
        """What a turn of the innermost loops of multiply-adds moves to and from local memory, and
        how many multiply-adds it has. Nothing where there is no local memory, or where another
        innermost loop moves some: nobody knows how often that goes round."""
        ends = {begin: max(e for b, e in self.loops if b == begin) for begin, _ in self.loops}
        total: dict[str, int] = defaultdict(int)
        for begin, end in ends.items():
            if any(begin < other <= end for other in ends):
                continue  # not an innermost one
            turn: dict[str, int] = defaultdict(int)
            for offset, what, amount in self.counted:
                if begin <= offset <= end:
                    turn[what] += amount
            moves = turn["load_bytes"] + turn["store_bytes"]
            if moves and not turn["multiply_adds"]:
                return {}
            if turn["multiply_adds"]:
                for what, amount in turn.items():
                    total[what] += amount
        moves = self.function.local_load_bytes + self.function.local_store_bytes
        return {"multiply_adds": 0, **dict(sorted(total.items()))} if moves else {}

    def _instruction(self, offset: int, parts: list[str], operands: str) -> None:
        self.labels.update(dict.fromkeys(self.new_labels, offset))
        self.new_labels.clear()
        self.function.instructions.add(parts[0])
        if parts[0] == "LDL":
            self.function.local_load_bytes += width_of(parts)
            self.counted.append((offset, "load_bytes", width_of(parts)))
        elif parts[0] == "STL":
            self.function.local_store_bytes += width_of(parts)
            self.counted.append((offset, "store_bytes", width_of(parts)))
        elif parts[0] in MULTIPLY_ADDS:
            self.counted.append((offset, "multiply_adds", MULTIPLY_ADDS[parts[0]]))
        elif parts[0] in ACCESSES:
            if self.place is None:
                raise AuditError(f"no line of ours is known for a compiled {'.'.join(parts)}")
            for access in ACCESSES[parts[0]]:
                self.found.append((offset, access, width_of(parts), self.place))
        elif parts[0] == "BRA" and (target := BRANCH.search(operands)):
            begin = self.labels.get(target[1], offset)
            if begin < offset:
                self.loops.append((begin, offset))

    def read(self, text: str, wanted: Iterable[str]) -> dict[str, Compiled]:
        wanted = set(wanted)
        reading = False
        for line in text.splitlines():
            if line.startswith(".text.") and line.endswith(":"):
                self._end()
                name = line[len(".text.") : -1]
                reading = name in wanted
                self._begin(self.functions.setdefault(name, Compiled()) if reading else Compiled())
            elif not reading:
                continue
            elif m := INSTRUCTION.match(line):
                self.in_chain = False
                self._instruction(int(m[1], 16), m[2].split("."), m[3])
            elif m := LOCATION.match(line):
                # Innermost first; the first that is ours counts.
                if not self.in_chain:
                    self.place = None
                self.in_chain = True
                self.place = self.place or place_of(m[1], int(m[2]))
            elif line.startswith(".L_") and line.endswith(":"):
                self.new_labels.append(line[:-1])
        self._end()
        return self.functions


RESOURCES = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")


def compiled_for(cubin: Path, build: Path, kernels: Collection[str]) -> dict[str, Compiled]:
    """Those of the kernels that one cubin has, by name."""
    usage = RESOURCES.findall(output_of(tool("cuobjdump"), "-res-usage", cubin))
    mangled = "".join(f"{name}\n" for name, *_ in usage)
    names = output_of(build / "gpubench-sites", "--names", text=mangled).splitlines()
    wanted = {m: name for (m, *_), name in zip(usage, names, strict=True) if name in kernels}
    if len(set(wanted.values())) < len(wanted):
        twice = next(n for n in wanted.values() if list(wanted.values()).count(n) > 1)
        raise AuditError(f"two kernels are called {twice}")
    if not wanted:
        return {}
    functions = Reader().read(output_of(tool("nvdisasm"), "-c", "-gi", cubin), wanted)
    for name, registers, stack, shared in usage:
        if name in wanted:
            kernel = functions[name]
            kernel.registers = int(registers)
            kernel.local_bytes = int(stack)
            kernel.static_shared_bytes = int(shared)
            if int(architecture_of(cubin)) >= 90 and int(shared) >= RESERVED_SHARED:
                kernel.static_shared_bytes -= RESERVED_SHARED
    return {wanted[name]: kernel for name, kernel in functions.items()}


def architecture_of(cubin: Path) -> str:
    return cubin.name.split(".sm_")[-1].removesuffix(".cubin").rstrip("af")


def compiled_in(build: Path, kernels: Collection[str]) -> dict[str, dict[str, Compiled]]:
    """Kernels of the model, by architecture ("90"), then by their names."""
    result: dict[str, dict[str, Compiled]] = {}
    with tempfile.TemporaryDirectory() as folder:
        output_of(
            tool("cuobjdump"), "-xelf", "all", (build / "gpubench-cuda").resolve(), cwd=Path(folder)
        )
        cubins = sorted(Path(folder).glob("*.cubin"))
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda cubin: compiled_for(cubin, build, kernels), cubins)
            for cubin, of_cubin in zip(cubins, found, strict=True):
                result.setdefault(architecture_of(cubin), {}).update(of_cubin)
    for architecture, of_architecture in result.items():
        if absent := sorted(set(kernels) - set(of_architecture)):
            raise AuditError(
                f"{absent[0]} runs on the model, but it was not compiled for sm_{architecture}"
            )
    return result
