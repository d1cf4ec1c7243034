"""What stands at a function's ends; clears what it takes of the stack, as it takes it.

The compiler initialises a variable where its declaration is reached (-ftrivial-auto-var-init), but
a `switch` or a `goto` may enter its scope behind that. Then it would hold what an earlier call has
left there: a solution's own, of another run or another block, or the checker's.
"""

from __future__ import annotations

import re

# Not a number as a float, and as a double: what g++ initialises with, as far as four bytes say it.
PATTERN = -0x01010102
WORD_BYTES = 8
MOST_UNROLLED = 16  # words

# At the beginning of a function, and before it returns.
ENTER = (
    *("\tpushq\t%rdi", "\tpushq\t%rsi", "\tleaq\t16(%rsp), %rdi"),
    *("\tcall\tgpubench_guard_enter", "\tpopq\t%rsi", "\tpopq\t%rdi"),
)
LEAVE = (
    *("\tpushq\t%rdi", "\tleaq\t8(%rsp), %rdi", "\tcall\tgpubench_guard_leave"),
    *("\tpopq\t%rdi", "\tret"),
)


def taken(mnemonic: str, operands: list[str]) -> int:
    """The bytes by which an instruction lowers the stack pointer without writing any."""
    if operands[-1:] != ["%rsp"] or mnemonic not in ("subq", "addq"):
        return 0
    found = re.fullmatch(r"\$(-?\d+)", operands[0])
    size = int(found[1]) if found else 0
    return max(0, size if mnemonic == "subq" else -size)


def clear(size: int) -> list[str]:
    """Clears `size` bytes below the stack pointer. Flags change; no register does, nor other
    memory."""
    words = -(-size // WORD_BYTES)
    if words <= MOST_UNROLLED:
        return [f"\tmovq\t${PATTERN}, {-WORD_BYTES * at}(%rsp)" for at in range(1, words + 1)]
    return [
        *("\tpushq\t%rdi", f"\tleaq\t{-WORD_BYTES * (words - 1)}(%rsp), %rdi"),
        *(f"1:\tmovq\t${PATTERN}, (%rdi)", f"\taddq\t${WORD_BYTES}, %rdi"),
        *("\tcmpq\t%rsp, %rdi", "\tjb\t1b", "\tpopq\t%rdi"),
        f"\tmovq\t${PATTERN}, {-WORD_BYTES}(%rsp)",
    ]


def stack_bytes(lines: list[str]) -> int:
    """What all functions together take of the stack, each at most."""
    total = depth = 0
    for line in lines:
        name, *rest = line.split()[:2] or [""]
        if name == ".cfi_def_cfa_offset":
            depth = max(depth, int(rest[0]) - WORD_BYTES)
        elif name == ".cfi_endproc":
            total, depth = total + depth, 0
    return total
