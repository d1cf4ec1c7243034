"""Where the constants of a unit of assembly end."""

from __future__ import annotations

import re

BYTES_OF = {"byte": 1, "value": 2, "2byte": 2, "long": 4, "4byte": 4, "quad": 8, "8byte": 8}
# The compiler's own name for a constant that it found within another one.
ALIAS = re.compile(r"\.set\s+(\.LC\d+),\s*(\.LC\d+)(?:\+(\d+))?")
SECTIONS = re.compile(r"\.(text|data|bss)$|\.section\s")


def data_after_labels(text: str) -> dict[str, int]:
    """Bytes from each label to the end of the data that the compiler wrote behind it."""
    after: dict[str, int] = {}
    aliases: list[tuple[str, str, int]] = []
    begins: dict[str, int] = {}  # of the run of data that is being read
    length = 0
    for line in [*text.splitlines(), ".text"]:
        stripped = line.strip()
        if found := re.fullmatch(r"([^\s:\"#]+):", line):
            begins[found[1]] = length
        elif alias := ALIAS.fullmatch(stripped):
            aliases.append((alias[1], alias[2], int(alias[3] or 0)))
        elif SECTIONS.match(stripped):
            after |= {label: length - begin for label, begin in begins.items()}
            begins, length = {}, 0
        else:
            length += _bytes_of(stripped)
    for label, within, offset in aliases:
        if label not in after and after.get(within, 0) > offset:
            after[label] = after[within] - offset
    return after


def _bytes_of(directive: str) -> int:
    """What the directive writes. Padding counts as nothing: no access may rely on it."""
    name, _, rest = directive.removeprefix(".").partition("\t")
    if name in BYTES_OF:
        return BYTES_OF[name] * len(rest.split(","))
    if name == "zero":
        return int(rest.split(",")[0])
    if name in ("string", "ascii"):
        # An escape takes up to four characters for one byte.
        characters = re.sub(r"\\(?:[0-7]{1,3}|.)", "?", rest[1:-1])
        return len(characters) + (name == "string")
    return 0
