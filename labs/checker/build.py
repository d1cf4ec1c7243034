"""Makes a program of the checker and one solution, compiling that solution alone."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .course import Lab, LabError
from .sandbox import Limits, run


class CompileError(Exception):
    """The solution does not compile; the text is the compiler's."""


Look = Callable[[Path], None]


@dataclass(frozen=True)
class Program:
    path: Path
    unit: Path  # the object file with the solution
    warnings: tuple[str, ...] = ()  # the compiler's, of the solution


def _ninja(build: Path, *words: str) -> str:
    done = subprocess.run(
        ["ninja", "-C", str(build), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stdout + done.stderr).strip().splitlines()[-20:]
        raise LabError("the checker did not build:\n" + "\n".join(last))
    return done.stdout


def has(lab: Lab, build: Path, kind: str) -> bool:
    """Whether `build` can make the program lab-NN of this kind."""
    rules = build / "build.ninja"
    return rules.exists() and f"build lab-{lab.number}{kind}:" in rules.read_text()


def prepare(lab: Lab, build: Path, kind: str = "") -> None:
    """Everything but the solution's unit; nothing to do the second time."""
    if not (build / "build.ninja").exists():
        raise LabError(f"{build} is not configured; scripts/lab does that")
    _ninja(build, f"lab-{lab.number}{kind}-prepared")


def _commands(lab: Lab, build: Path, kind: str) -> tuple[list[str], list[str]]:
    """How ninja would compile the unit and link the program."""
    target = f"lab-{lab.number}{kind}"
    lines = [line for line in _ninja(build, "-t", "commands", target).splitlines() if line.strip()]
    unit = next(line for line in lines if f"{lab.folder.name}/unit.cu" in line and " -c " in line)
    link = lines[-1].removeprefix(": && ").removesuffix(" && :")
    return shlex.split(unit), shlex.split(link)


def _without(words: list[str], flag: str, count: int = 1) -> list[str]:
    if flag not in words:
        return words
    at = words.index(flag)
    return words[:at] + words[at + count :]


def compile_solution(
    lab: Lab, build: Path, solution: Path, into: Path, kind: str = "", look: Look | None = None
) -> Program:
    """The program lab-NN with `solution` in it, in the folder `into`.

    `look` sees the object file before anything is linked, and may raise. CompileError, LabError.
    """
    unit, link = _commands(lab, build, kind)
    unit = [word for word in unit if not word.startswith("-DLAB_SOLUTION=") and word != "-MD"]
    # A matter of style is told, and costs nothing.
    unit = [word for word in unit if not word.startswith("-Werror")]
    unit = _without(_without(unit, "-MT", 2), "-MF", 2)
    old = unit[unit.index("-o") + 1]
    new = into / "solution.o"
    unit[unit.index("-o") + 1] = str(new)
    unit.append(f'-DLAB_SOLUTION="{solution.resolve()}"')
    # Of the commands that ninja runs, the paths are relative to the build folder.
    done = run(unit, build, Limits(seconds=60), keep=("PATH", "CCACHE_DISABLE"))
    if done.why:
        raise CompileError(f"the compiler {done.why}")
    if done.returncode != 0:
        raise CompileError("\n".join(plain_messages(done.stderr, solution)))
    if look:
        look(new)
    program = into / f"lab-{lab.number}{kind}"
    link = [str(new) if word == old else word for word in link]
    link[link.index("-o") + 1] = str(program)
    linked = subprocess.run(link, cwd=build, capture_output=True, text=True, check=False)
    if linked.returncode != 0:
        raise CompileError(linked.stderr.strip())
    warnings = [line for line in plain_messages(done.stderr, solution) if " warning" in line]
    return Program(program, new, tuple(warnings))


def plain_messages(text: str, solution: Path) -> list[str]:
    """The compiler's about the solution, by its short name, and all errors, which come first."""
    lines = text.strip().replace(str(solution.resolve()), solution.name).splitlines()
    errors = [line for line in lines if " error: " in line]
    own = [line for line in lines if line.startswith(solution.name) and line not in errors]
    return (errors + own or lines)[:12]
