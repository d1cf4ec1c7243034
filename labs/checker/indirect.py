"""Makes direct calls of those through an address: of the compiler's assembly, before it is guarded.

A helper that takes a function calls it by its address, unless the compiler makes a copy of the
helper for that function. Only the functions whose address the unit takes can be meant. So such a
call compares the address with theirs and calls by name the one that it is. What follows reads
direct calls alone, and knows who calls whom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

HANDLES = "_ZN3lab"  # how the names begin that the checker looks for: unit.cu's
OF_THE_COMPILER = "_sub_I_00099_0"  # calls __tsan_init(), which does nothing
INDIRECT = re.compile(r"\s+call\t\*(?P<place>\S.*)")
TYPE = re.compile(r"\s*\.type\s+([^\s,]+),\s*@function")
LABEL = re.compile(r"([^\s:\"#]+):")
NAME = re.compile(r"[A-Za-z_$][\w.$]*")
# What names a function without taking its address.
NAMING = re.compile(r"\s+(?:call|j[a-z]+|\.(?!quad\b)\w+)\s")
MOST_FUNCTIONS = 32  # that a call is compared with


def direct_calls(text: str) -> str:
    """The same unit. Calls through addresses stay where it takes no function's, or too many."""
    lines = text.splitlines()
    if not any(INDIRECT.fullmatch(line) for line in lines):
        return text
    known = _taken(lines)
    if not 0 < len(known) <= MOST_FUNCTIONS:
        return text
    out: list[str] = []
    for number, line in enumerate(lines):
        found = INDIRECT.fullmatch(line)
        out += _call(found["place"], known, number) if found else [line]
    return "\n".join(out) + "\n"


def _taken(lines: list[str]) -> list[str]:
    """The unit's functions whose addresses its instructions or its constants hold."""
    functions = {found[1] for line in lines if (found := TYPE.fullmatch(line))}
    functions.discard(OF_THE_COMPILER)
    taken: dict[str, None] = {}
    is_handle = False  # what unit.cu hands over is for the checker to launch
    for line in lines:
        if found := LABEL.fullmatch(line):
            is_handle = found[1].startswith(HANDLES)
        elif line[:1].isspace() and not is_handle and not NAMING.match(line):
            taken |= dict.fromkeys(name for name in NAME.findall(line) if name in functions)
    return list(taken)


def _call(place: str, known: list[str], number: int) -> Iterator[str]:
    """`number` is the call's own. No argument is in %r10 or %r11, and a call may change both."""
    yield f"\tmovq\t{place}, %r11"
    for at, function in enumerate(known):
        yield f"\tleaq\t{function}(%rip), %r10"
        yield "\tcmpq\t%r10, %r11"
        yield f"\tjne\t.Lnot_{number}_{at}"
        yield f"\tcall\t{function}"
        yield f"\tjmp\t.Lcalled_{number}"
        yield f".Lnot_{number}_{at}:"
    yield "\tud2"
    yield f".Lcalled_{number}:"
