"""What a solution may keep per thread and per block, as the compiler's assembly says it.

An emulated kernel has as much memory as its host; a GPU's has 48 KiB of static shared memory per
block and a few hundred registers per thread. Without a limit, a solution could keep what its lab
has it compute piece by piece.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .frames import stack_bytes

MOST_STATIC_SHARED_BYTES = 48 << 10  # per block; nvcc takes no more, whatever the GPU
DYNAMIC_SHARED = "_ZN8gpubench5model21dynamic_shared_memoryEv"  # where a launch's memory is
# What unit.cu hands over.
HANDLE = re.compile(r"_ZN3lab\d+([a-z_0-9]+)E:")
LABEL = re.compile(r"([A-Za-z_$][\w.$]*):")
CALL = re.compile(r"\s*(?:call|jmp)q?\s+([\w$][\w.$]*)(?:@PLT)?")
THREAD_LOCAL = re.compile(r"([\w.$]+)@(?:tpoff|gottpoff|tlsgd|tlsld|dtpoff)")
SIZE = re.compile(r"\s*\.size\s+([\w.$]+),\s*(\d+)")


class Functions:
    """A unit's functions: what they call, and the variables of theirs that are shared."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._calls: dict[str, set[str]] = {}
        self._shared: dict[str, set[str]] = defaultdict(set)
        self._sizes: dict[str, int] = {}
        self.handed_over: dict[str, str] = {}  # the checker's name for a function -> its own
        label = own = handle = ""
        for line in lines:
            if found := LABEL.match(line):
                label = found[1]
                found = HANDLE.fullmatch(line)
                handle = found[1] if found else ""
            elif (stripped := line.strip()) == ".cfi_startproc":
                own = label
                self._calls[own] = set()
            elif stripped == ".cfi_endproc":
                own = ""
            elif found := SIZE.fullmatch(line):
                self._sizes[found[1]] = int(found[2])
            elif own and (found := CALL.fullmatch(line)):
                self._calls[own].add(found[1])
            elif own and not stripped.startswith("."):
                self._shared[own].update(THREAD_LOCAL.findall(line))
            elif handle and stripped.startswith(".quad"):
                self.handed_over[handle] = stripped.split()[1]

    @property
    def names(self) -> Iterable[str]:
        return self._calls

    def calling_itself(self) -> str:
        """The name of a function that calls itself, perhaps by way of others; "" if none does."""
        done: set[str] = set()
        for start in self._calls:
            way = {start: iter(self._calls[start])}  # from `start` on, and what is left of each
            while way and start not in done:
                last = next(reversed(way))
                called = next(way[last], "")
                if called in way:
                    return called
                if not called:
                    del way[last]
                    done.add(last)
                elif called in self._calls and called not in done:
                    way[called] = iter(self._calls[called])
        return ""

    def reached_from(self, function: str) -> set[str]:
        """It, and all that it calls, perhaps by way of others."""
        reached, ahead = {function}, [function]
        while ahead:
            following = self._calls.get(ahead.pop(), set()) - reached
            reached |= following
            ahead += following
        return reached

    def shared_by(self, functions: Iterable[str]) -> set[str]:
        return set().union(*(self._shared.get(name, set()) for name in functions))

    def bytes_of(self, variables: Iterable[str]) -> int:
        return sum(self._sizes.get(name, 0) for name in variables)


@dataclass(frozen=True)
class Budget:
    frame_bytes: float = math.inf  # all functions' frames together
    # Per block, by kernel. The checker launches such a kernel with so much, which it may use
    # instead of static memory, and not as well.
    shared_bytes: Mapping[str, int] = field(default_factory=dict)

    def faults(self, lines: list[str]) -> Iterator[str]:
        functions = Functions(lines)
        if (kept := stack_bytes(lines)) > self.frame_bytes:
            yield (
                f"keeps {kept} bytes per thread on its stack; at most {self.frame_bytes:g} are "
                "allowed"
            )
        if self.frame_bytes < math.inf and (caller := functions.calling_itself()):
            named = re.match(r"_ZL?(\d+)", caller)  # most often; else as the linker has it
            name = caller[named.end() :][: int(named[1])] if named else caller
            yield f"{name}: calls itself: its stack would grow with the data"
        yield from self._shared_faults(functions)

    def _shared_faults(self, functions: Functions) -> Iterator[str]:
        others = functions.shared_by(functions.names)
        for kernel, function in functions.handed_over.items():
            most = self.shared_bytes.get(kernel, MOST_STATIC_SHARED_BYTES)
            reached = functions.reached_from(function)
            variables = functions.shared_by(reached)
            others -= variables
            kept = functions.bytes_of(variables)
            if kernel in self.shared_bytes and DYNAMIC_SHARED in reached:
                kept += most
            if kept > most:
                yield f"{kernel}: takes {kept} bytes of shared memory per block; {most} are there"
        # Those of kernels that the solution launches itself.
        if (kept := functions.bytes_of(others)) > MOST_STATIC_SHARED_BYTES:
            yield (
                f"takes {kept} bytes of static shared memory; a block has "
                f"{MOST_STATIC_SHARED_BYTES}"
            )
