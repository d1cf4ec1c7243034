"""The instructions of x86-64 that kernels are made of: what each does to memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

SUFFIX_BYTES = {"b": 1, "w": 2, "l": 4, "q": 8}
CONDITION = r"(?:n?[abceglopsz]|n?[abgl]e|p[eo])"

# Integers: the operation, then the size of its operands.
CHANGES = "mov|add|sub|and|or|xor|adc|sbb|inc|dec|neg|not|shl|sal|shr|sar|rol|ror|rcl|rcr|shld|shrd"
READS = "cmp|test|imul|mul|idiv|div|bsf|bsr|push"
INTEGER = re.compile(rf"(?:(?P<changes>{CHANGES})|(?P<reads>{READS}))(?P<size>[bwlq])")
EXTENDED = re.compile(r"mov[sz](?P<size>[bwl])[wlq]")
MOVED_IF = re.compile(rf"cmov{CONDITION}(?P<size>[wlq])?")
SET_IF = re.compile(rf"set{CONDITION}")
# These take registers alone, or nothing.
WITHOUT_MEMORY = re.compile(
    r"lea[wlq]|nop[wl]?|endbr64|ud2|popq|movabsq|bswap[lq]?|cltq|cwtl|cqto|cltd|cwtd|cbtw"
    r"|b(?:t|ts|tr|tc)[lq]?"
)
# Floating point: the operation, then the type.
FLOAT = re.compile(
    r"(?:add|sub|mul|div|sqrt|rsqrt|rcp|min|max|and|andn|or|xor|u?comi|unpckl|unpckh|shuf"
    r"|cmp(?:n?eq|n?lt|n?le|unord|ord)?)(?P<type>ss|sd|ps|pd)"
)
# What operators make, which the model does not count.
OF_OPERATORS = re.compile(r"(?:add|sub|mul|div)[sp][sd]")
FLOAT_MOVE = re.compile(r"mov(?P<type>ss|sd|aps|ups|apd|upd|dqa|dqu|d|lps|hps|lpd|hpd)")
FLOAT_BYTES = {"ss": 4, "sd": 8, "d": 4, "lps": 8, "hps": 8, "lpd": 8, "hpd": 8}
FLOAT_REGISTERS = re.compile(r"mov(?:hlps|lhps|mskps|mskpd)|pmovmskb")
CONVERSION = re.compile(r"cvtt?(?P<source>si|ss|sd|ps|pd|dq)2(?:si|ss|sd|ps|pd|dq)(?P<size>[lq])?")
PACKED = re.compile(
    r"p(?:add|sub|mul|and|or|xor|andn|cmpeq|cmpgt|sll|srl|sra|shuf|unpck|ack|min|max|avg|sad|madd)"
    r"[a-z]*|punpck[a-z]+|pack[a-z]+"
)


@dataclass(frozen=True)
class Access:
    bytes: int  # of its operand in memory, if it has one; 0: it must not, or does not access it
    stores: bool = False


def access_of(mnemonic: str, operands: list[str]) -> Access | None:
    """What this instruction would do to an operand in memory; None: no kernel needs it."""
    last_in_memory = bool(operands) and memory_of(operands[-1]) is not None
    any_in_memory = any(memory_of(operand) is not None for operand in operands)
    if re.fullmatch(r"lea[wlq]|nop[wl]?", mnemonic):
        return Access(0)
    if WITHOUT_MEMORY.fullmatch(mnemonic) or FLOAT_REGISTERS.fullmatch(mnemonic):
        return None if any_in_memory else Access(0)
    if mnemonic == "movq":
        return Access(8, last_in_memory)
    if found := INTEGER.fullmatch(mnemonic):
        return Access(SUFFIX_BYTES[found["size"]], last_in_memory and found["changes"] is not None)
    if found := EXTENDED.fullmatch(mnemonic):
        return Access(SUFFIX_BYTES[found["size"]])
    if found := MOVED_IF.fullmatch(mnemonic):
        return Access(SUFFIX_BYTES[found["size"] or "q"])
    if SET_IF.fullmatch(mnemonic):
        return Access(1, last_in_memory)
    if found := FLOAT.fullmatch(mnemonic):
        return Access(FLOAT_BYTES.get(found["type"], 16))
    if found := FLOAT_MOVE.fullmatch(mnemonic):
        return Access(FLOAT_BYTES.get(found["type"], 16), last_in_memory)
    if found := CONVERSION.fullmatch(mnemonic):
        if found["source"] == "si":
            return Access(SUFFIX_BYTES[found["size"] or "q"])
        widens = mnemonic.endswith("2pd")  # two elements of four bytes
        return Access(8 if widens else FLOAT_BYTES.get(found["source"], 16))
    if found := re.fullmatch(r"p(?:insr|extr)([bwdq])", mnemonic):
        return Access({**SUFFIX_BYTES, "d": 4}[found[1]], last_in_memory)
    if PACKED.fullmatch(mnemonic):
        return Access(16, last_in_memory)
    return None


@dataclass(frozen=True)
class Memory:
    """An operand in memory, as the assembler writes it."""

    text: str
    segment: str
    displacement: str
    base: str
    index: str
    rest: str  # what stands in brackets

    @property
    def symbol(self) -> str:
        """Whose address the displacement has in it."""
        found = re.search(r"[A-Za-z_.$][\w.$]*", self.displacement.split("@")[0])
        return found[0] if found else ""

    @property
    def relocation(self) -> str:
        found = re.search(r"@(\w+)", self.displacement)
        return found[1] if found else ""

    @property
    def offset(self) -> int | None:
        try:
            return int(self.displacement or "0")
        except ValueError:
            return None

    @property
    def distance(self) -> int | None:
        """How far it is from the symbol; None: not known here."""
        # The compiler writes "8+table", where we would write "table+8".
        beyond = self.displacement.replace(self.symbol, "", 1).removesuffix("+")
        return int(beyond or "0") if re.fullmatch(r"([+-]?\d+)?", beyond) else None

    def without_segment(self, pushed: int) -> str:
        """The same after so many bytes were pushed."""
        displacement = self.displacement
        if self.base == "%rsp":
            displacement = f"{displacement}+{pushed}" if displacement else str(pushed)
        return displacement + self.rest


def memory_of(operand: str) -> Memory | None:
    if operand.startswith("$") or re.fullmatch(r"\*?%(?!fs:|gs:|[cdes]s:)\w+(\(\d\))?", operand):
        return None
    found = re.fullmatch(
        r"(?P<segment>%\ws:)?(?P<displacement>[^%()]*)(?P<rest>\((?P<inner>[^()]*)\))?", operand
    )
    if not found:
        return Memory(operand, "?", "", "", "", "")
    inner = [part.strip() for part in (found["inner"] or "").split(",")] + ["", ""]
    return Memory(
        text=operand,
        segment=found["segment"] or "",
        displacement=found["displacement"],
        base=inner[0],
        index=inner[1],
        rest=found["rest"] or "",
    )


def operands_of(text: str) -> list[str]:
    """Split at the commas that stand in no brackets."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)] if text else []


def whole_register(operand: str) -> str:
    """The 64-bit register that an operand is a part of; "" for what is none."""
    if found := re.fullmatch(r"%(r\d+)[bwd]?", operand):
        return f"%{found[1]}"
    if found := re.fullmatch(r"%[er]?([abcd])[xlh]", operand):
        return f"%r{found[1]}x"
    if found := re.fullmatch(r"%[er]?(si|di|bp|sp)l?", operand):
        return f"%r{found[1]}"
    return ""


# These set all flags that a later instruction could ask for; those leave them as they are.
SETS_FLAGS = re.compile(r"(?:cmp|test|add|sub|and|or|xor|neg)[bwlq]|u?comis[sd]|call")
KEEPS_FLAGS = re.compile(r"mov\w*|lea[wlq]|push[wlq]|pop[wlq]|cvt\w+|cltq|cltd|cqto|nop\w?")


def no_flags_live(lines: list[str]) -> bool:
    """Whether nobody asks for the flags that are there before the first of these lines."""
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("."):
            if stripped.endswith(":"):
                return False
            continue
        mnemonic = stripped.split("\t")[0]
        if SETS_FLAGS.fullmatch(mnemonic):
            return True
        if not KEEPS_FLAGS.fullmatch(mnemonic) and not FLOAT.fullmatch(mnemonic):
            return False
    return False
