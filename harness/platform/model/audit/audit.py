#!/usr/bin/env python3
"""Compares what the emulator counts with what the compiled kernels do, by site, and keeps what the
compiler knows of each kernel: registers, shared and local memory.

  audit.py BUILD           what differs from harness/platform/model/compiled/compiled.json; exit code 1 if anything
  audit.py BUILD --write   writes that file, for the architectures that BUILD compiled

BUILD holds gpubench-cuda and gpubench-sites. Needs cuobjdump, nvdisasm and addr2line.

A site is a line of source and a kind of access (global or shared; load, store or atomic). It is
exact if the compiled code has the widths there that the emulator saw, and, where none of the
instructions is in a loop, at least as many of them as a lane executes. So loads that were merged,
left out, or shared between sites of a line are found; within a loop that the compiler kept, only
widths are compared. Instructions at sites that no run of the emulator came by are not judged.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from os.path import normpath
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parents[4]
DATA = ROOT / "harness/platform/model/compiled/compiled.json"
# What CUDA itself keeps of a block's shared memory, which counts as the kernel's from sm_90 on.
RESERVED_SHARED = 1024
# Compilers differ on which line of a statement an access belongs to.
LINES_OF_A_STATEMENT = 3


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


@dataclass
class Seen:
    """A kernel as the emulator saw it."""

    sites: Sites
    studied: dict[str, list[str]]  # by concept: the kinds of access that its rows count


# --- tools ----------------------------------------------------------------------------------------


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


# --- what the emulator saw ------------------------------------------------------------------------


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


# --- what was compiled ----------------------------------------------------------------------------

INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)")
LOCATION = re.compile(r'\s*//## File "([^"]+)", line (\d+)')
BRANCH = re.compile(r"`\((\.L_[\w]+)\)")
ACCESSES = {
    "LDG": ["global load"],
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


def width_of(parts: list[str]) -> int:
    """Bytes that a lane moves, from the suffixes of an instruction."""
    if parts[0] in ("LDSM", "STSM"):
        return 16  # a lane names a row of a matrix
    for part in parts[1:]:
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


def compiled_for(cubin: Path, build: Path, seen: dict[str, Seen]) -> dict[str, Compiled]:
    """Of one cubin, the kernels that the emulator saw too, by name."""
    usage = RESOURCES.findall(output_of(tool("cuobjdump"), "-res-usage", cubin))
    mangled = "".join(f"{name}\n" for name, *_ in usage)
    names = output_of(build / "gpubench-sites", "--names", text=mangled).splitlines()
    wanted = {m: name for (m, *_), name in zip(usage, names, strict=True) if name in seen}
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


def compiled_in(build: Path, seen: dict[str, Seen]) -> dict[str, dict[str, Compiled]]:
    """By architecture ("90"), then by the kernel's name."""
    result: dict[str, dict[str, Compiled]] = {}
    with tempfile.TemporaryDirectory() as folder:
        output_of(
            tool("cuobjdump"), "-xelf", "all", (build / "gpubench-cuda").resolve(), cwd=Path(folder)
        )
        cubins = sorted(Path(folder).glob("*.cubin"))
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda cubin: compiled_for(cubin, build, seen), cubins)
            for cubin, kernels in zip(cubins, found, strict=True):
                result.setdefault(architecture_of(cubin), {}).update(kernels)
    for architecture, kernels in result.items():
        if absent := sorted(set(seen) - set(kernels)):
            raise AuditError(
                f"{absent[0]} runs on the model, but it was not compiled for sm_{architecture}"
            )
    return result


# --- the comparison -------------------------------------------------------------------------------


def source_of(place: Place) -> str:
    """The place by what is written there, which other lines' edits do not change."""
    text = (ROOT / place.file).read_text().splitlines()[place.line - 1].strip()
    return f"{Path(place.file).name}: {text}"


def difference(kind: str, seen: Site, compiled: Site | None) -> str:
    """In words, what became of the accesses of a site; empty if it is exact."""
    count = sum(seen.widths.values())
    widths = "+".join(str(w) for w in sorted(seen.widths))
    if compiled is None:
        return f"leaves out the {kind} of {widths} bytes"
    if set(compiled.widths) != set(seen.widths):
        now = sorted(compiled.widths)
        verb = "merges" if now[-1] > max(seen.widths) else "splits"
        if compiled.in_loop:
            return f"{verb} {kind}s of {widths} bytes into {'+'.join(map(str, now))}"
        into = " and ".join(f"{compiled.widths[w]} of {w}" for w in now)
        return f"{verb} {count} {kind}s of {widths} bytes into {into}"
    if not compiled.in_loop and sum(compiled.widths.values()) < count:
        return f"makes {sum(compiled.widths.values())} of {count} {kind}s of {widths} bytes"
    return ""


def differences(seen: Sites, compiled: Sites) -> dict[str, str]:
    """By kind of access, what ptxas does to the source's stream; nothing where it is exact."""
    words: dict[str, list[str]] = defaultdict(list)
    for (kind, place), site in sorted(seen.items(), key=lambda s: (s[0][0], str(s[0][1]))):
        found = compiled.get((kind, place))
        if found is None:
            free = [
                p for k, p in compiled if k == kind and p.file == place.file and (k, p) not in seen
            ]
            near = [p for p in free if abs(p.line - place.line) <= LINES_OF_A_STATEMENT]
            # Inlined, an access may stand where what it brings is first used.
            same = [p for p in free if set(compiled[kind, p].widths) == set(site.widths)]
            if near or same:
                found = compiled[kind, min(near or same, key=lambda p: abs(p.line - place.line))]
        if what := difference(kind, site, found):
            words[kind].append(f"{what} at '{source_of(place)}'")
    return {kind: "ptxas " + "; ".join(dict.fromkeys(w)) for kind, w in words.items()}


@dataclass
class Audit:
    nvcc: str
    architectures: list[str]
    kernels: dict[str, dict[str, dict]]  # name, architecture, what compiled.json says of it
    studied: dict[str, dict[str, list[str]]]  # name, concept, kinds of access
    instructions: dict[str, dict[str, set[str]]]  # name, architecture, without suffixes

    def wrong_counts(self) -> list[str]:
        """Rows' counters that the compiled code does not keep, of concepts that count."""
        return [
            f"{name} for sm_{architecture}, {kind} (of {concept}): {entry['counts'][kind]}"
            for name, concepts in self.studied.items()
            for concept, kinds in concepts.items()
            if counts_are_the_lesson(concept)
            for architecture, entry in self.kernels[name].items()
            for kind in kinds
            if kind in entry.get("counts", {})
        ]


def counts_are_the_lesson(concept: str) -> bool:
    """Whether the head of the bench file has its counters confirmed by the profiler's: then they
    have to be those of the compiled code."""
    head = (ROOT / "bench" / f"{concept}.cu").read_text().split("#include")[0]
    return "l1tex__" in head.partition("// Confirm")[2]


def nvcc_of(build: Path) -> str:
    for file in build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        if m := re.search(r'CMAKE_CUDA_COMPILER_VERSION "([^"]+)"', file.read_text()):
            return m[1]
    raise AuditError(f"{build} was not configured with nvcc")


def audit(build: Path) -> Audit:
    nvcc = nvcc_of(build)
    seen = seen_by_emulator(build)
    compiled = compiled_in(build, seen)
    kernels: dict[str, dict[str, dict]] = {}
    instructions: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for name, kernel in sorted(seen.items()):
        of_kernel = kernels.setdefault(name, {})
        for architecture in sorted(compiled, key=int):
            code = compiled[architecture][name]
            instructions[name][architecture] = code.instructions
            figures = {
                "registers": code.registers,
                "static_shared_bytes": code.static_shared_bytes,
                "local_bytes": code.local_bytes,
                "local_load_bytes": code.local_load_bytes,
                "local_store_bytes": code.local_store_bytes,
                "spills": code.spills,
                "counts": differences(kernel.sites, code.sites),
            }
            entry = {name: figure for name, figure in figures.items() if figure}
            of_kernel[architecture] = entry
    studied = {name: kernel.studied for name, kernel in seen.items()}
    return Audit(nvcc, sorted(compiled, key=int), kernels, studied, instructions)


# --- the file -------------------------------------------------------------------------------------


def kept(path: Path = DATA) -> dict:
    """The file, with an entry for each architecture."""
    if not path.exists():
        return {"nvcc": "", "kernels": {}}
    data = json.loads(path.read_text())
    for name, groups in data["kernels"].items():
        data["kernels"][name] = {a: entry for group, entry in groups.items() for a in group.split()}
    return data


def stale(found: Audit, known: dict) -> list[str]:
    """What the file says otherwise than the compiled code, a line each."""
    lines = []
    for name, by_architecture in found.kernels.items():
        of_file = known["kernels"].get(name, {})
        lines += [
            f"{name}, sm_{architecture}: {of_file.get(architecture, 'nothing')} in the file, "
            f"{entry} compiled"
            for architecture, entry in by_architecture.items()
            if of_file.get(architecture) != entry
        ]
        missing = [a for a in all_architectures() if a not in of_file]
        if missing and not set(missing) <= set(found.architectures):
            lines.append(f"{name}: the file has nothing for sm_{', sm_'.join(missing)}")
    lines += [f"{name}: no row runs it" for name in known["kernels"] if name not in found.kernels]
    return lines


def all_architectures() -> list[str]:
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    every = next(p for p in presets if p["name"] == "all-architectures")
    names = every["cacheVariables"]["CMAKE_CUDA_ARCHITECTURES"].split(";")
    return [name.rstrip("af") for name in names]


def write(found: Audit, known: dict, path: Path = DATA) -> None:
    """Architectures that were not compiled now keep what the file says of them."""
    lines = []
    for name, entries in found.kernels.items():
        merged = {**known["kernels"].get(name, {}), **entries}
        groups: dict[str, list[str]] = {}
        for architecture in sorted(merged, key=int):
            groups.setdefault(json.dumps(merged[architecture]), []).append(architecture)
        rows = [f'      "{" ".join(group)}": {entry}' for entry, group in groups.items()]
        lines.append(f"    {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n    }")
    about = (
        "What nvcc made of each kernel, by architecture; written by scripts/audit. Registers a "
        "thread; bytes of static shared memory a block; bytes of local memory (spills and arrays) "
        "that a thread has, loads and stores, once through the code; spills: what of it each turn "
        "of the loops with multiply-adds moves, and how many of those a turn has; counts: the "
        "kinds of access for which the compiled code does not keep the source's stream, and how. "
        "Absent: none."
    )
    head = f'{{\n  "about": {json.dumps(about)},\n  "nvcc": {json.dumps(found.nvcc)},\n'
    body = '  "kernels": {\n' + ",\n".join(lines) + "\n  }\n}\n"
    path.write_text(head + body)


def main() -> int:
    parser = argparse.ArgumentParser(description="See the head of this file.")
    parser.add_argument("build", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    try:
        found = audit(options.build)
        known = kept()
        if options.write:
            write(found, known)
            wrong = []
        elif known["nvcc"] != found.nvcc:
            raise AuditError(f"{DATA.name} is of nvcc {known['nvcc']}, this is {found.nvcc}")
        else:
            wrong = stale(found, known)
        wrong += found.wrong_counts()
    except AuditError as error:
        print(f"audit: {error}", file=sys.stderr)
        return 2
    print("\n".join(wrong))
    exact = sum(all("counts" not in e for e in k.values()) for k in found.kernels.values())
    print(f"{len(found.kernels)} kernels for sm_{', sm_'.join(found.architectures)}: {exact} exact")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
