#!/usr/bin/env python3
"""Compares what the emulator counts with what the compiled kernels do, by site, and keeps what the
compiler knows of each kernel: registers, shared and local memory.

  audit.py BUILD           what differs from compiled/compiled.json; exit code 1 if anything does
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
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disassembly import Compiled, compiled_in
from sites import ROOT, AuditError, Place, Site, Sites, seen_by_emulator

DATA = ROOT / "harness/platform/model/compiled/compiled.json"
# Compilers differ on which line of a statement an access belongs to.
LINES_OF_A_STATEMENT = 3


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


def figures_of(code: Compiled) -> dict[str, Any]:
    """What compiled.json says of a kernel for an architecture, but for its counts."""
    figures = {
        "registers": code.registers,
        "static_shared_bytes": code.static_shared_bytes,
        "local_bytes": code.local_bytes,
        "local_load_bytes": code.local_load_bytes,
        "local_store_bytes": code.local_store_bytes,
        "spills": code.spills,
    }
    return {name: figure for name, figure in figures.items() if figure}


def audit(build: Path) -> Audit:
    nvcc = nvcc_of(build)
    seen = seen_by_emulator(build)
    compiled = compiled_in(build, seen)
    kernels: dict[str, dict[str, dict]] = {}
    for name, kernel in sorted(seen.items()):
        of_kernel = kernels.setdefault(name, {})
        for architecture in sorted(compiled, key=int):
            code = compiled[architecture][name]
            counts = differences(kernel.sites, code.sites)
            of_kernel[architecture] = figures_of(code) | ({"counts": counts} if counts else {})
    studied = {name: kernel.studied for name, kernel in seen.items()}
    return Audit(nvcc, sorted(compiled, key=int), kernels, studied)


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
