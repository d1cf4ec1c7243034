"""Wrong, lazy and cheating submissions, and others that are right: edits of a reference
(labs/NN-name/reference/wrong.toml and, where there is one, right.toml).

An entry has `about`, in wrong.toml `expect` and, applied in this order:

kernel  what follows is about this kernel alone; otherwise about the whole file
edits   [old, new] each; every old must stand there exactly once
body    the body of the kernel (of the last one in the file, without `kernel`)
from    ... only from these words on, which must stand there exactly once
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

from checker.course import Lab, read_toml

KEYS = {"about", "expect", "kernel", "edits", "from", "body"}


@dataclass(frozen=True)
class Wrong:
    lab: Lab
    name: str
    where: str  # policy, correct, counters, time: what refuses it
    words: str  # and says this
    raw: dict[str, Any]

    @property
    def text(self) -> str:
        return edited(self.lab.reference.read_text(), self.raw, f"{self.lab.number}/{self.name}")


def once(text: str, old: str, new: str, name: str) -> str:
    count = text.count(old)
    assert count == 1, f"{name}: {old!r} stands there {count} times, not once"
    return text.replace(old, new)


def edited(reference: str, raw: dict[str, Any], name: str) -> str:
    unknown = raw.keys() - KEYS
    assert not unknown, f"{name}: unknown {unknown}"
    before, text, after = "", reference, ""
    if "kernel" in raw:
        begin = text.index(f"__global__ void {raw['kernel']}(")
        end = text.index("\n}\n", begin) + 3
        before, text, after = text[:begin], text[begin:end], text[end:]
    for old, new in raw.get("edits", []):
        text = once(text, old, new, name)
    if "body" in raw:
        head = text.index(") {\n", text.rindex("__global__ void ")) + 4
        body = text[head:].removesuffix("}\n")
        new = textwrap.indent(raw["body"].strip("\n"), "  ") + "\n"
        if "from" in raw:
            new = once(body, raw["from"], "\0", name).split("\0")[0] + new.lstrip()
        text = text[:head] + new + "}\n"
    return before + text + after


def right_submissions(lab: Lab) -> dict[str, str]:
    """Their texts, by name."""
    path = lab.folder / "reference" / "right.toml"
    found = read_toml(path) if path.exists() else {}
    assert all(raw["about"] and "expect" not in raw for raw in found.values()), path
    reference = lab.reference.read_text()
    return {name: edited(reference, raw, f"{lab.number}/{name}") for name, raw in found.items()}


def wrong_submissions(lab: Lab) -> list[Wrong]:
    found = []
    for name, raw in read_toml(lab.folder / "reference" / "wrong.toml").items():
        expect = re.fullmatch(r"(policy|correct|counters|time) (.+)", raw["expect"])
        assert expect, f"{lab.number}/{name}: expect = {raw['expect']!r}"
        assert raw["about"]
        found.append(Wrong(lab, name, expect[1], expect[2], raw))
    return found
