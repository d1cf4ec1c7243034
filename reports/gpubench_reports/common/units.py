"""Numbers for people: SI prefixes, and units beside them.

Data are in SI base units throughout; prefixes are added only where something is shown.
"""

import math
from collections.abc import Mapping

_PREFIXES = {
    -12: "p",
    -9: "n",
    -6: "µ",
    -3: "m",
    0: "",
    3: "k",
    6: "M",
    9: "G",
    12: "T",
    15: "P",
    18: "E",
}

# Whole numbers are no FLOPs: types, and the roofs that are theirs.
_WHOLE_NUMBERS = ("int8", "int32", "tensor_int8")


def arithmetic_unit(*names: object) -> str:
    """What arithmetic is counted in, of a type or a roof of these names. For files that name the
    type alone: device files, and result files of version 1."""
    return "OP/s" if any(name in _WHOLE_NUMBERS for name in names) else "FLOP/s"


def plural(count: int, noun: str) -> str:
    """How many there are, in words: "1 row", "3 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def si_exponent(value: float) -> int:
    """The power of ten, a multiple of 3, of the SI prefix that suits `value`; 0 for zero."""
    if value == 0 or not math.isfinite(value):
        return 0
    exponent = math.floor(math.log10(abs(value)) / 3 + 1e-12) * 3
    return min(max(exponent, min(_PREFIXES)), max(_PREFIXES))


def si_prefix(exponent: int) -> str:
    """The prefix of 10**`exponent`, a multiple of 3 from -12 to 18."""
    return _PREFIXES[exponent]


def si(value: float, unit: str = "", digits: int = 3) -> str:
    """`value` with `digits` significant digits and an SI prefix: si(4.4e12, "B/s") = "4.40 TB/s".

    Values beyond the prefixes are written with an exponent.
    """
    exponent = si_exponent(value)
    scaled = value / 10.0**exponent
    if scaled and not 0.1 <= abs(scaled) < 1e4:
        return f"{value:.{digits - 1}e} {unit}".rstrip()
    whole = len(str(int(abs(scaled))))
    text = f"{scaled:.{max(digits - whole, 0)}f}"
    if abs(float(text)) >= 1000 and exponent + 3 in _PREFIXES:
        return si(math.copysign(10.0 ** (exponent + 3), value), unit, digits)
    return f"{text} {_PREFIXES[exponent]}{unit}".rstrip()


def si_short(value: float) -> str:
    """`value` for a tick: no trailing zeros, so that 1e9 is "1 G" and 2.5e12 "2.5 T"."""
    exponent = si_exponent(value)
    scaled = value / 10.0**exponent
    if scaled and not 0.1 <= abs(scaled) < 1e4:
        return f"{value:.0e}"
    return f"{scaled:.4g} {_PREFIXES[exponent]}".rstrip()


def argument_text(value: float | str) -> str:
    """A swept value for a tick or a label; whole binary multiples read 64 Ki, 2 Mi, 1 Gi."""
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) >= 1024:
        whole = int(value)
        for shift, prefix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if whole % (1 << shift) == 0:
                return f"{whole >> shift} {prefix}"
        return f"{whole}" if abs(whole) < 10**9 else f"{value:.4g}"
    return f"{value:.6g}"


def axis_title(name: str, units: Mapping[str, str]) -> str:
    """The label of a swept axis: its name and, where `units` has it, its unit."""
    return f"{name} [{units[name]}]" if name in units else name
