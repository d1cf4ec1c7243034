"""Attacks on the checker: attacks.toml, and the folders that they come in."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.course import Lab, read_toml

from .conftest import LABS
from .wrong import KEYS, edited

OWN_KEYS = {"lab", "before", "past", "beside", "link", "expect", "about"}


@dataclass(frozen=True)
class Attack:
    name: str
    lab: Lab
    where: str  # policy, correct, counters, time: what refuses it
    words: str  # and says this
    past: tuple[str, ...]
    raw: dict[str, Any]

    def submit(self, folder: Path) -> None:
        """Writes the student's folder, with right answers."""
        folder.mkdir(parents=True)
        shutil.copy(self.lab.folder / "reference" / "answers.toml", folder)
        for name, text in self.raw.get("beside", {}).items():
            (folder / name).write_text(text)
        solution = folder / "solution.cuh"
        if "link" in self.raw:
            solution.symlink_to(self.lab.folder / self.raw["link"])
        else:
            solution.write_text(self.text)

    @property
    def text(self) -> str:
        changes = {key: value for key, value in self.raw.items() if key in KEYS - {"expect"}}
        text = edited(self.lab.reference.read_text(), changes, self.name)
        if "before" in self.raw:
            at = text.index("\nstatic ") + 1
            text = text[:at] + self.raw["before"] + "\n" + text[at:]
        return text


def attacks() -> list[Attack]:
    found = []
    by_number = {lab.number: lab for lab in LABS}
    for name, raw in read_toml(Path(__file__).with_name("attacks.toml")).items():
        unknown = raw.keys() - KEYS - OWN_KEYS
        assert not unknown, f"{name}: unknown {unknown}"
        expect = re.fullmatch(r"(policy|correct|counters|time) ?(.*)", raw["expect"])
        assert expect, f"{name}: expect = {raw['expect']!r}"
        past = tuple(raw.get("past", ()))
        found.append(Attack(name, by_number[raw["lab"]], expect[1], expect[2], past, raw))
    return found
