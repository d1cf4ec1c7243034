"""Makes constants of what describes the compiler's checks: of its assembly, before it is guarded.

Where an index leaves an array, or a shift or a conversion cannot be made, the compiler calls a
handler and hands it the address of a description, which it keeps as a variable although nobody
writes it. A solution may have no variable outside of its kernels.
"""

from __future__ import annotations

import re

SECTION = re.compile(r"(?m)^(?=\t\.(?:text|data|bss|section)\b)")
OF_VARIABLES = re.compile(r"\t\.(data|section\t\.data\.rel(\.local)?(,.*)?)\n")
LABEL = re.compile(r"(?m)^([^\s:\"#]+):$")
OF_DESCRIPTIONS = '\t.section\t.data.rel.ro,"aw"\n'


def constant_descriptions(text: str) -> str:
    return "".join(_constant(section) for section in SECTION.split(text))


def _constant(section: str) -> str:
    found = OF_VARIABLES.match(section)
    labels = LABEL.findall(section)
    if not found or not labels or not all(re.match(r"\.Lubsan_", label) for label in labels):
        return section
    return OF_DESCRIPTIONS + section[found.end() :]
