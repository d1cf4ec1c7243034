"""Makes assembly that cannot harm whoever runs it: of the compiler's, for a solution's unit.

The compiler reports each access that a solution's source makes, but trusts what it says of itself:
an index beyond a local array, a pointer made of a number, a call through it. So what the compiler
made is read here, instruction by instruction. Those that nobody needs for a kernel are refused. In
front of each access outside of its function's own frame stands a call that has it checked, and
around each function one that has its return address checked (emulator/guard.hpp). What it takes of
the stack is cleared. What is left cannot write to the checker, cannot jump into it, makes no
access that is not counted, and keeps nothing from one call to the next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .budget import Budget
from .constants import ALIAS, data_after_labels
from .descriptions import constant_descriptions
from .frames import ENTER, LEAVE, clear, taken
from .indirect import HANDLES, OF_THE_COMPILER, direct_calls
from .instructions import (
    OF_OPERATORS,
    Memory,
    access_of,
    memory_of,
    no_flags_live,
    operands_of,
    whole_register,
)

MOST_FRAME_BYTES = 64 << 10
# The functions that write where their caller says, by the linker's names.
RENAMED = {
    name: f"gpubench_guarded_{name}"
    for name in (
        *("memcpy", "memmove", "memset", "sincos", "sincosf"),
        *("cudaMemcpy", "cudaMemcpyAsync"),
    )
} | {
    "_Z24cudaEventCreateWithFlagsPP10CUevent_stj": "gpubench_guarded_cudaEventCreateWithFlags",
}
BUILTIN_VARIABLES = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
BUILTIN_BYTES = 12  # of each of them
# Registers that a call may change, and those that instructions change without naming them.
LOST_IN_CALLS = ("%rsi", "%rdi", "%r8", "%r9", "%r10", "%r11")
IMPLICIT = ("", "%rax", "%rcx", "%rdx", "%rsp")
MOST_AHEAD = 12  # lines
ALIGNED = ("cfi_def_cfa_register", "cfi_def_cfa", "cfi_escape")  # a frame at an aligned address
ONLY_THE_RUN_KNOWS = (
    "memory on the stack of a size that only the run knows, or a local variable that is aligned to "
    "more than 16 bytes"
)

KEPT = {
    *("file", "loc", "ident", "size", "align", "p2align", "text"),
    *("cfi_sections", "cfi_startproc", "cfi_endproc", "cfi_def_cfa_offset", "cfi_offset"),
    *("cfi_restore", "cfi_remember_state", "cfi_restore_state"),
    *("byte", "value", "long", "quad", "zero", "string", "ascii", "uleb128", "sleb128"),
    *("2byte", "4byte", "8byte"),
}
DROPPED = {"globl", "weak", "hidden", "internal", "local", "protected"}
DATA = {"byte", "value", "long", "quad", "zero", "string", "ascii", "2byte", "4byte", "8byte"}


class UnguardedError(Exception):
    """The unit does what no solution may; the arguments are the reasons, a line each."""


@dataclass
class Unit:
    """What of a unit is known before its instructions are read."""

    functions: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    externals: set[str] = field(default_factory=set)  # that it calls
    data_after: dict[str, int] = field(default_factory=dict)  # label -> bytes of constants from it


@dataclass
class _State:
    section: str = ".text"
    depth: int = 0  # bytes between the stack pointer and the return address
    remembered: list[int] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    where: str = ""
    builtins: dict[str, str] = field(default_factory=dict)  # register -> whose place it holds
    handle: str = ""  # what unit.cu hands over, whose value follows


def survey(text: str) -> Unit:
    unit = Unit()
    for line in text.splitlines():
        if found := re.fullmatch(r"\s*\.type\s+([^\s,]+),\s*@function", line):
            unit.functions.add(found[1])
        elif found := re.fullmatch(r"([^\s:\"#]+):", line):
            unit.labels.add(found[1])
    for line in text.splitlines():
        if found := re.fullmatch(r"\s+call\s+([^\s*@]+)(@PLT)?", line):
            unit.externals |= {found[1]} - unit.labels
    unit.data_after = data_after_labels(text)
    unit.labels |= unit.data_after.keys()
    return unit


class Rewriter:
    def __init__(self, unit: Unit, *, only_fma: bool, budget: Budget) -> None:
        self._unit = unit
        self._only_fma = only_fma
        self._budget = budget
        self._state = _State()
        self._out: list[str] = []
        self._faults: dict[str, None] = {}
        self._ahead: list[str] = []  # this line and those after it
        self.numbers: dict[str, list[str]] = {}  # that unit.cu hands over, as data

    def rewrite(self, text: str) -> str:
        """UnguardedError."""
        if "#APP" in text:
            raise UnguardedError("inline assembly has no place in a solution")
        self._out += ["\t.section .rodata", "\t.globl gpubench_guarded_unit"]
        self._out += ["gpubench_guarded_unit:", "\t.byte 1"]
        self._mark_variables("begin")
        self._out.append("\t.text")
        lines = self._without_the_compilers(text.splitlines())
        for at, line in enumerate(lines):
            self._ahead = lines[at : at + MOST_AHEAD]
            self._line(line)
        self._mark_variables("end")
        self._faults |= dict.fromkeys(self._budget.faults(lines))
        if self._faults:
            raise UnguardedError(*self._faults)
        return "\n".join(self._out) + "\n"

    def _without_the_compilers(self, lines: list[str]) -> list[str]:
        """Without its own constructor, which calls __tsan_init()."""
        kept, skipping = [], False
        for line in lines:
            if line == f"{OF_THE_COMPILER}:":
                skipping = True
            if not skipping and OF_THE_COMPILER not in line:
                kept.append(line)
            if skipping and line.strip() == ".cfi_endproc":
                skipping = False
        return [line for line in kept if not re.match(r"\s*\.section\s+\.init_array\.00099,", line)]

    def _mark_variables(self, end: str) -> None:
        """Tells the emulator where the variables are that these kernels may use."""
        name = f"gpubench_guarded_{end}"
        self._out += ['\t.section .tbss,"awT",@nobits', f"\t.type {name}, @tls_object", f"{name}:"]
        self._out.append("\t.zero 8")

    def _fault(self, what: str) -> None:
        where = f"{self._state.where}: " if self._state.where else ""
        self._faults[f"{where}{what}"] = None

    def _line(self, line: str) -> None:
        stripped = line.strip()
        if not stripped:
            return
        if found := re.fullmatch(r"([^\s:\"#;]+):", line):
            self._state.handle = found[1] if found[1].startswith(HANDLES) else ""
            self._state.builtins = {}
            self._out.append(line)
        elif stripped.startswith("."):
            name, _, rest = stripped[1:].partition("\t")
            self._directive(name.split()[0], rest or stripped[1 + len(name.split()[0]) :].strip())
        else:
            self._instruction(stripped)

    # --- directives ---

    def _directive(self, name: str, rest: str) -> None:
        state = self._state
        if name in ("section", "bss", "data"):
            self._section(rest if name == "section" else f".{name}")
            return
        if name == "type":
            kind = rest.split("@")[-1]
            if kind not in ("function", "object", "tls_object", "gnu_unique_object"):
                self._fault(f"defines a symbol of the kind {kind}, which no solution needs")
            self._out.append(f"\t.type {rest.replace('gnu_unique_object', 'object')}")
            return
        if name in DROPPED:
            if rest.startswith(HANDLES):
                self._out.append(f"\t.{name}\t{rest}")
            return
        if name in ("comm", "lcomm"):
            self._section(".bss")
            return
        alias = ALIAS.fullmatch(f".{name}\t{rest}")
        if name in ALIGNED:
            self._fault(ONLY_THE_RUN_KNOWS)
            return
        if name not in KEPT and not (alias and alias[1] in self._unit.data_after):
            self._fault(f"has the compiler write .{name}, which no solution needs")
            return
        if state.section == ".text" and name in DATA:
            self._fault("puts data where the code is")
        self._known(name, rest)
        self._out.append(f"\t.{name}\t{rest}" if rest else f"\t.{name}")
        if name == "cfi_startproc":
            self._out += ENTER

    def _known(self, name: str, rest: str) -> None:
        """What a directive says of the function that is being read, or of the kernels' handles."""
        state = self._state
        if name == "cfi_startproc":
            state.depth = 0
        elif name == "cfi_def_cfa_offset":
            state.depth = int(rest) - 8
            if state.depth > MOST_FRAME_BYTES:
                self._fault(f"takes {state.depth} bytes of stack; {MOST_FRAME_BYTES} are there")
        elif name == "cfi_remember_state":
            state.remembered.append(state.depth)
        elif name == "cfi_restore_state" and state.remembered:
            state.depth = state.remembered.pop()
        elif name == "text":
            state.section = ".text"
        elif name == "file" and (found := re.match(r'(\d+) .*"([^"]*)"$', rest)):
            state.files[found[1]] = found[2].rsplit("/", 1)[-1]
        elif name == "loc" and (found := re.match(r"(\d+) (\d+)", rest)):
            state.where = f"{state.files.get(found[1], '?')}:{found[2]}"
        elif name in ("long", "zero") and state.handle and (name, rest) != ("zero", "8"):
            self.numbers.setdefault(state.handle, []).append(f".{name} {int(rest)}")
        elif name in DATA and state.handle and rest not in self._unit.functions:
            self._fault(f"hands over {rest} where a kernel is asked for")

    def _section(self, rest: str) -> None:
        name = rest.split(",")[0].strip('"')
        kind = next(
            (
                k
                for k in (".text", ".rodata", ".data.rel.ro", ".tbss", ".debug_")
                if self._is(name, k)
            ),
            "",
        )
        if name in (".note.GNU-stack",) or kind == ".debug_":
            self._out.append(f"\t.section\t{rest}")
            self._state.section = name
            return
        if ".init_array" in name or ".ctors" in name or ".fini_array" in name:
            self._fault("has code that runs before the checker does: a global that is computed")
        elif not kind:
            self._fault(f"keeps a variable outside of its kernels, in {name}: no GPU counts that")
        self._state.section = kind or name
        flags = {".text": "", ".tbss": ',"awT",@nobits', ".data.rel.ro": ',"aw"'}.get(kind, "")
        self._out.append(f"\t.section\t{kind}{flags}" if kind else "\t.data")

    @staticmethod
    def _is(name: str, kind: str) -> bool:
        return (
            name.startswith(kind)
            if kind == ".debug_"
            else re.match(re.escape(kind) + r"(\.|$)", name) is not None
        )

    # --- instructions ---

    def _instruction(self, text: str) -> None:
        if ";" in text or "#" in text:
            self._fault(f"an instruction that the checker does not know: {text}")
            return
        mnemonic, _, rest = text.partition("\t")
        operands = operands_of(rest)
        if mnemonic == "call":
            self._call(rest)
        elif mnemonic == "ret" and not rest:
            self._out += LEAVE
        elif mnemonic.startswith("j"):
            if not re.fullmatch(r"j[a-z]+", mnemonic) or not re.fullmatch(r"\.L\w+", rest):
                self._fault("jumps to where only the run knows")
            self._out.append(f"\t{text}")
        else:
            self._plain(mnemonic, operands, text)

    def _call(self, target: str) -> None:
        name = target.removesuffix("@PLT")
        if not re.fullmatch(r"[\w.$]+", name):
            self._fault("calls a function that only the run knows")
            return
        if name.startswith("gpubench_"):
            self._fault(f"calls {name}, which is not for a solution to call")
        if name in self._unit.labels and name not in self._unit.functions:
            self._fault("calls what is no function")
        if name not in self._unit.labels:
            name = RENAMED.get(name, name) + "@PLT"
        self._out.append(f"\tcall\t{name}")
        # A function of its own may have changed what it is to restore.
        for register in list(self._state.builtins):
            if name in self._unit.labels or register in LOST_IN_CALLS:
                del self._state.builtins[register]

    def _plain(self, mnemonic: str, operands: list[str], text: str) -> None:
        access = access_of(mnemonic, operands)
        if access is None:
            self._fault(f"an instruction that no kernel needs: {text.expandtabs(1)}")
            return
        if self._only_fma and OF_OPERATORS.fullmatch(mnemonic):
            self._fault(
                "floating-point arithmetic by an operator, which this lab does not count: write "
                "a * b + c as fmaf(a, b, c)"
            )
        if self._moves_stack(mnemonic, operands):
            self._fault(ONLY_THE_RUN_KNOWS)
        memory = [found for operand in operands if (found := memory_of(operand)) is not None]
        if len(memory) > 1:
            self._fault(f"an instruction that the checker does not know: {text.expandtabs(1)}")
        elif memory and access.bytes > 0:
            self._access(memory[0], access.bytes, access.stores)
        self._out += [*clear(taken(mnemonic, operands)), f"\t{text}"]
        self._note_builtin(mnemonic, operands, memory)

    def _note_builtin(self, mnemonic: str, operands: list[str], memory: list[Memory]) -> None:
        """Which registers hold the place of threadIdx or its like."""
        written = whole_register(operands[-1]) if operands else ""
        self._state.builtins.pop(written, None)
        loads_place = mnemonic == "movq" and memory and memory[0].relocation == "gottpoff"
        if loads_place and memory[0].symbol in BUILTIN_VARIABLES and written not in IMPLICIT:
            self._state.builtins[written] = memory[0].symbol

    def _is_builtin(self, at: Memory, size: int, stores: bool) -> bool:
        if stores or at.index or at.offset is None or at.base not in self._state.builtins:
            return False
        return at.offset >= 0 and at.offset + size <= BUILTIN_BYTES

    @staticmethod
    def _moves_stack(mnemonic: str, operands: list[str]) -> bool:
        """Other than by as many bytes as the compiler knew."""
        if not operands or operands[-1] not in ("%rsp", "%esp", "%sp", "%spl"):
            return False
        if mnemonic in ("cmpq", "testq", "pushq"):
            return False
        return not (mnemonic in ("addq", "subq") and operands[0].startswith("$"))

    def _access(self, at: Memory, size: int, stores: bool) -> None:
        if at.segment not in ("", "%fs:"):
            self._fault(f"an address that no kernel needs: {at.text}")
        elif at.segment:
            if (at.text != "%fs:0" or stores) and not self._is_builtin(at, size, stores):
                self._check(at, size, stores)
        elif at.base == "%rip":
            self._access_of_unit(at, size, stores)
        elif not self._is_in_frame(at, size):
            self._check(at, size, stores)

    def _is_in_frame(self, at: Memory, size: int) -> bool:
        if at.base != "%rsp" or at.index or at.offset is None:
            return False
        return at.offset >= 0 and at.offset + size <= self._state.depth

    def _access_of_unit(self, at: Memory, size: int, stores: bool) -> None:
        if stores:
            self._fault("stores to a variable outside of its kernels")
        own = at.symbol in self._unit.labels
        if at.relocation in ("gottpoff", "tlsgd", "tlsld"):
            own |= at.symbol in BUILTIN_VARIABLES
        if not own:
            self._fault(f"reads {at.symbol}, which this lab does not have")
        elif at.relocation:
            # The linker's table holds the addresses of others beside it.
            if at.displacement != f"{at.symbol}@{at.relocation}" or size > 8:
                self._fault(f"an address that no kernel needs: {at.text}")
        else:
            distance = at.distance
            room = self._unit.data_after.get(at.symbol, 0)
            if distance is None or distance < 0 or distance + size > room:
                self._fault(f"reads beyond the constants of its own: {at.text}")

    def _check(self, at: Memory, size: int, stores: bool) -> None:
        known = at.symbol in self._unit.labels or at.symbol in BUILTIN_VARIABLES
        if at.symbol and not known:
            self._fault(f"reaches for {at.symbol}, which this lab does not have")
        address = at.without_segment(24)  # beyond what is pushed here
        saves, restores = ("\tpushfq", "\tpopfq")
        if no_flags_live(self._ahead):
            saves, restores = ("\tleaq\t-8(%rsp), %rsp", "\tleaq\t8(%rsp), %rsp")
        self._out += [saves, "\tpushq\t%rdi", "\tpushq\t%rsi", f"\tleaq\t{address}, %rdi"]
        if at.segment:
            self._out.append("\taddq\t%fs:0, %rdi")
        self._out += [f"\tmovl\t${size | stores << 8}, %esi", "\tcall\tgpubench_guard"]
        self._out += ["\tpopq\t%rsi", "\tpopq\t%rdi", restores]


def guarded(
    text: str, *, only_fma: bool = False, budget: Budget | None = None
) -> tuple[str, dict[str, list[str]]]:
    """The same unit, guarded, and the numbers that it hands over, by symbol. UnguardedError.

    `only_fma`: it may compute with floating-point numbers by calls alone, which the model counts.
    """
    text = direct_calls(constant_descriptions(text))
    rewriter = Rewriter(survey(text), only_fma=only_fma, budget=budget or Budget())
    return rewriter.rewrite(text), rewriter.numbers
