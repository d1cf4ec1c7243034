"""Clears a function's frame as it is entered.

The compiler initialises a variable where its declaration is reached (-ftrivial-auto-var-init), but
a `switch` or a `goto` may enter its scope behind that. Then it would hold what an earlier call has
left there: a solution's own, of another run or another block, or the checker's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Not a number as a float, and as a double: what g++ initialises with, as far as four bytes say it.
PATTERN = -0x01010102
WORD_BYTES = 8
MOST_UNROLLED = 16  # words


def frame_bytes(lines: list[str]) -> Iterator[int]:
    """The most that each function has below its return address, in their order."""
    most = 0
    for line in lines:
        if found := re.fullmatch(r"\s*\.cfi_def_cfa_offset\s+(\d+)", line):
            most = max(most, int(found[1]) - WORD_BYTES)
        elif line.strip() == ".cfi_startproc":
            most = 0
        elif line.strip() == ".cfi_endproc":
            yield most


def clear(size: int) -> list[str]:
    """Clears `size` bytes below the stack pointer. No register changes, nothing else is written."""
    words = -(-size // WORD_BYTES)
    if words <= MOST_UNROLLED:
        return [f"\tmovq\t${PATTERN}, {-WORD_BYTES * at}(%rsp)" for at in range(1, words + 1)]
    return [
        *("\tpushq\t%rdi", f"\tleaq\t{-WORD_BYTES * (words - 1)}(%rsp), %rdi"),
        *(f"1:\tmovq\t${PATTERN}, (%rdi)", f"\taddq\t${WORD_BYTES}, %rdi"),
        *("\tcmpq\t%rsp, %rdi", "\tjb\t1b", "\tpopq\t%rdi"),
        f"\tmovq\t${PATTERN}, {-WORD_BYTES}(%rsp)",
    ]
