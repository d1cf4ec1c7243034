"""A lab as a Jupyter notebook: its page, with the concept's picture inline, and cells to fill."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .course import Lab, LabError, read_toml

_CHECK = """\
import json, pathlib, subprocess, tempfile

here = pathlib.Path.cwd()
root = next(folder for folder in (here, *here.parents) if (folder / "scripts/lab").exists())
with tempfile.TemporaryDirectory() as folder:
    files = pathlib.Path(folder)
    (files / "solution.cuh").write_text(solution)
    known = {{name: json.dumps(value) for name, value in answers.items() if value is not None}}
    (files / "answers.toml").write_text("".join(f"{{n}} = {{v}}\\n" for n, v in known.items()))
    command = [root / "scripts/lab", "check", "{number}"]
    given = [f"--solution={{files / 'solution.cuh'}}", f"--answers={{files / 'answers.toml'}}"]
    done = subprocess.run([*command, *given], capture_output=True, text=True)
print(done.stdout, done.stderr, sep="")"""


def write(root: Path, lab: Lab, out: Path) -> int:
    """Writes the notebook; returns how many cells it has. LabError."""
    cells = [_with_id(cell, number) for number, cell in enumerate(_cells(root, lab), 1)]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    out.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(cells)


def _cells(root: Path, lab: Lab) -> Iterator[dict[str, Any]]:
    parts = _sections(lab)
    yield _text(parts["head"])
    yield _picture(root, lab)
    questions = [f"- **{one.id}**: {one.question}" for one in lab.predictions]
    yield _text("## Predict\n\nPut an answer in place of each `None`.\n\n" + "\n".join(questions))
    names = "".join(f'    "{one.id}": None,\n' for one in lab.predictions)
    yield _code(f"answers = {{\n{names}}}")
    yield _text(parts["Write"])
    skeleton = (lab.folder / "solution.cuh").read_text(encoding="utf-8").rstrip("\n")
    yield _code(f'solution = r"""\n{skeleton}\n"""')
    yield _text(parts["Check"])
    yield _code(_CHECK.format(number=lab.number))
    hints = read_toml(lab.folder / "hints.toml").get("hints", [])
    closed = (
        f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>"
        for number, hint in enumerate(hints, 1)
    )
    yield _text("\n\n".join(("## Hints", *closed)))
    yield _text(parts["Explain"])


def _sections(lab: Lab) -> dict[str, str]:
    """The page's parts by their headings; what stands before the first is its head."""
    page = (lab.folder / "README.md").read_text(encoding="utf-8")
    head, *rest = re.split(r"(?m)^## ", re.sub(r"<!-- .*? -->\n", "", page))
    found = {"head": head.strip()}
    for part in rest:
        found[part.partition("\n")[0]] = f"## {part.strip()}"
    missing = [name for name in ("Write", "Check", "Explain") if name not in found]
    if missing:
        raise LabError(f"{lab.folder}/README.md: has no section {', '.join(missing)}")
    return found


def _picture(root: Path, lab: Lab) -> dict[str, Any]:
    found = sorted((root / "reports/gallery").glob(f"*-{lab.concept}*.png"))
    if not found:
        raise LabError(f"lab {lab.number}: reports/gallery has no picture of {lab.concept}")
    attached = {
        path.name: {"image/png": base64.b64encode(path.read_bytes()).decode("ascii")}
        for path in found
    }
    shown = "\n".join(f"![{lab.concept}](attachment:{name})" for name in attached)
    text = f"{shown}\n\n*The suite's own rows of {lab.concept} on an H200, modelled.*"
    return _text(text) | {"attachments": attached}


def _text(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }


def _with_id(cell: dict[str, Any], number: int) -> dict[str, Any]:
    return {"id": f"cell-{number}", **cell}
