"""Makes a program of the checker and one solution, compiling that solution alone."""

from __future__ import annotations

import fcntl
import math
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from .box import Box
from .budget import Budget
from .course import Lab, LabError, MachineError
from .guarded import UnguardedError, guarded
from .policy import ForbiddenError
from .report import excerpt
from .sandbox import Limits, run
from .tools import MOST_FILE_BYTES, tool, wrote_too_much


class CompileError(Exception):
    """The solution does not compile; the text is the compiler's."""


Look = Callable[[Path], None]

# What says that a unit is compiled for guarded.py to read (labs.cmake).
PLAIN = "-fno-jump-tables"
# What guarded.py reads here, outside of any box. The references make a quarter of a MiB at most.
MOST_ASSEMBLY_BYTES = 8 << 20


@dataclass(frozen=True)
class Program:
    path: Path
    unit: Path  # the object file with the solution
    warnings: tuple[str, ...] = ()  # the compiler's, of the solution
    judge: Path | None = None  # a program of the same rows without any solution
    is_guarded: bool = False


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
    rules = build / "build.ninja"
    if not rules.exists():
        raise LabError(f"{build} is not configured; scripts/lab does that")
    with rules.open() as lock:  # two at once would write the same files
        fcntl.flock(lock, fcntl.LOCK_EX)
        _ninja(build, f"lab-{lab.number}{kind}-prepared")


def _commands(lab: Lab, build: Path, kind: str) -> tuple[list[str], list[str]]:
    """How ninja would compile the unit and link the program."""
    target = f"lab-{lab.number}{kind}"
    lines = _ninja(build, "-t", "commands", target).splitlines()
    unit = next(line for line in lines if f"{lab.folder.name}/unit.cu" in line and " -c " in line)
    return shlex.split(unit), _link_command(build, target)


def _link_command(build: Path, target: str) -> list[str]:
    last = _ninja(build, "-t", "commands", "-s", target).strip()
    return shlex.split(last.removeprefix(": && ").removesuffix(" && :"))


def _without(words: list[str], flag: str, count: int = 1) -> list[str]:
    if flag not in words:
        return words
    at = words.index(flag)
    return words[:at] + words[at + count :]


def _include_folders(words: list[str]) -> list[Path]:
    after = pairwise(words)
    apart = [Path(folder) for flag, folder in after if flag in ("-I", "-isystem")]
    return apart + [Path(word[2:]) for word in words if word.startswith("-I") and word != "-I"]


def _readable(lab: Lab, words: list[str]) -> tuple[Path, ...]:
    """What the compiler may see beside the system: what a solution may include, and no answer."""
    root = lab.folder.parents[1]
    files = [lab.folder / name for name in ("interface.cuh", "given.cuh", "unit.cu")]
    headers = [Path(words[i + 1]).parent for i, word in enumerate(words) if word == "-include"]
    # The checkout's, or those of the installed gpubench that the labs are built with.
    shared = [
        folder / name for folder in _include_folders(words) for name in ("harness", "kernels")
    ]
    shared += sorted(root.glob("labs/*.hpp"))
    return tuple(path for path in (*shared, *files, *headers) if path.exists())


def _compiled(
    lab: Lab, build: Path, words: list[str], solution: Path, into: Path, output: Path
) -> tuple[str, ...]:
    """Runs the compiler; its warnings of the solution. CompileError."""
    if Path(words[0]).name in ("ccache", "sccache"):  # whose store a submission may not write to
        words = words[1:]
    words = [word for word in words if not word.startswith("-DLAB_SOLUTION=") and word != "-MD"]
    # A matter of style is told, and costs nothing.
    words = [word for word in words if not word.startswith("-Werror")]
    words = _without(_without(words, "-MT", 2), "-MF", 2)
    words[words.index("-o") + 1] = str(output)
    words.append(f'-DLAB_SOLUTION="{solution}"')
    box = Box((*_readable(lab, words), solution.parent), (into,))
    # Paths in the commands that ninja runs are relative to the build folder.
    words = [str(build / word) if (build / word).is_file() else word for word in words]
    limits = Limits(seconds=60, memory_bytes=2 << 30, file_bytes=MOST_FILE_BYTES)
    if "-S" in words:
        limits = replace(limits, file_bytes=MOST_ASSEMBLY_BYTES)
    done = run(words, into, limits, box=box)
    if done.is_starved:
        raise MachineError(f"the compiler {done.why}")
    if done.why:
        raise CompileError(f"the compiler {done.why}")
    if wrote_too_much(done):
        raise CompileError(f"its machine code takes more than {limits.file_bytes >> 20} MiB")
    messages = plain_messages(done.stderr.replace(f"{lab.folder}/", ""), solution)
    if done.returncode != 0:
        raise CompileError("\n".join(messages))
    # A parameter that a solution has no use for is the skeleton's doing.
    return tuple(
        line for line in messages if " warning" in line and "[-Wunused-parameter]" not in line
    )


def _assemble(text: str, unit: Path, compiler: str) -> bool:
    """Whether the assembler took it. ForbiddenError, TooMuchError: it makes too much of it."""
    source = unit.with_suffix(".s")
    source.write_text(text, encoding="utf-8", errors="surrogateescape")
    done = tool([compiler, "-c", str(source), "-o", str(unit)], unit.parent)
    if wrote_too_much(done):
        raise ForbiddenError(f"has more than {MOST_FILE_BYTES >> 20} MiB of code and data")
    return done.returncode == 0


def _guard(lab: Lab, assembly: Path, unit: Path, compiler: str) -> dict[str, list[str]]:
    """Makes the object of the assembly, without what could harm, and returns the numbers that it
    hands over. ForbiddenError."""
    if assembly.stat().st_size > MOST_ASSEMBLY_BYTES:
        raise ForbiddenError(f"has more than {MOST_ASSEMBLY_BYTES >> 20} MiB of machine code")
    try:
        text = assembly.read_text(encoding="utf-8", errors="surrogateescape")
        budget = Budget(lab.limits.get("frame_bytes", math.inf), lab.shared_bytes)
        text, numbers = guarded(text, only_fma=lab.only_fma, budget=budget)
    except UnguardedError as error:
        raise ForbiddenError(*error.args) from None
    if not _assemble(text, unit, compiler):
        raise ForbiddenError("has names or data that the assembler does not take")
    return numbers


def _link(words: list[str], build: Path, program: Path) -> None:
    words[words.index("-o") + 1] = str(program)
    linked = tool(words, build)
    if wrote_too_much(linked):
        raise CompileError(f"its program takes more than {MOST_FILE_BYTES >> 20} MiB")
    if linked.returncode != 0:
        raise CompileError("\n".join(excerpt(linked.stderr.strip().splitlines())))


def _judge(lab: Lab, build: Path, into: Path, numbers: dict[str, list[str]], compiler: str) -> Path:
    """The program that judges, which has none of a solution but the numbers it hands over."""
    target = f"lab-{lab.number}-judge"
    if not numbers:
        return build / target
    text = "".join(
        f".globl {name}\n{name}:\n" + "".join(f"{line}\n" for line in lines)
        for name, lines in numbers.items()
    )
    if not _assemble(f".section .rodata\n{text}", into / "numbers.o", compiler):
        raise LabError(f"{target}: the numbers of a solution did not assemble")
    words = _link_command(build, target)
    stand_ins = tuple(f"-Wl,--defsym={name}=" for name in numbers)
    words = [word for word in words if not word.startswith(stand_ins)]
    _link([*words, str(into / "numbers.o")], build, into / target)
    return into / target


def compile_solution(
    lab: Lab, build: Path, solution: Path, into: Path, kind: str = "", look: Look | None = None
) -> Program:
    """The program lab-NN with `solution` in it, in the folder `into`.

    `look` sees the object file before anything is linked, and may raise. CompileError,
    ForbiddenError, TooMuchError, LabError.
    """
    words, link = _commands(lab, build, kind)
    old, new = words[words.index("-o") + 1], into / "solution.o"
    source = into / "source" / solution.name
    source.parent.mkdir()
    source.write_bytes(solution.read_bytes())  # nothing lies beside it that it could include
    made = into / "compiled"
    made.mkdir()
    is_guarded = PLAIN in words
    compiler = next(word for word in words if Path(word).name not in ("ccache", "sccache"))
    numbers: dict[str, list[str]] = {}
    if is_guarded:
        words[words.index("-c")] = "-S"
        warnings = _compiled(lab, build, words, source, made, made / "solution.s")
        numbers = _guard(lab, made / "solution.s", new, compiler)
    else:
        warnings = _compiled(lab, build, words, source, made, made / "solution.o")
        (made / "solution.o").rename(new)
    if look:
        look(new)
    program = into / f"lab-{lab.number}{kind}"
    link = [str(new) if word == old else word for word in link]
    _link(link, build, program)
    judge = None if kind else _judge(lab, build, into, numbers, compiler)
    return Program(program, new, warnings, judge, is_guarded)


# What unit.cu hands over and a solution lacks, in the words of g++, clang and nvcc.
UNDEFINED = re.compile(
    r"unit\.cu\S* error: (?:['‘]::(\w+)['’] has not been declared"
    r"|no member named '(\w+)' in the global namespace"
    r'|the global scope has no "(\w+)").*'
)
# A kernel whose parameters are not those that the lab launches it with.
OTHER_TYPE = re.compile(
    r"unit\.cu\S* error: invalid conversion from ['‘]void \(\*\)(\(.*\))['’] to "
    r"['‘](?:\S+ \{aka ['‘])?void \(\*\)(\(.*?\))['’].*"
)
UNCLOSED = re.compile(r" note: to match this ['‘]\{['’]")


def plain_messages(text: str, solution: Path) -> list[str]:
    """The compiler's about the solution, by its short name, and all errors, which come first: those
    of the solution before what they lead to elsewhere."""
    text = UNDEFINED.sub(rf"{solution.name}: error: does not define \1\2\3", text)
    text = OTHER_TYPE.sub(
        rf"{solution.name}: error: a kernel takes \1, and the lab launches it with \2", text
    )
    text = UNCLOSED.sub(" error: no '}' closes this '{'", text)
    lines = text.strip().replace(str(solution), solution.name).splitlines()
    errors = [line for line in lines if " error: " in line]
    errors.sort(key=lambda line: not line.startswith(solution.name))
    own = [line for line in lines if line.startswith(solution.name) and line not in errors]
    return excerpt(errors + own or lines)
