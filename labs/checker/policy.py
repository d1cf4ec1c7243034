"""What a solution may consist of: device code, and nothing that could reach for the checker.

Two looks, since each sees what the other cannot. The source, which may have no macros, so that none
hides a word. And the object file: whatever the source looked like, only functions on
the list can be called, and no code can run before main().
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .course import Lab, LabError


class ForbiddenError(Exception):
    """The compiled solution does what it must not; the arguments are the reasons, a line each."""


INCLUDES = {
    "cuda_runtime.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "mma.h",
    "cooperative_groups.h",
    "cuda_pipeline_primitives.h",
    "dynamic_shared.hpp",
    "warp_mma.hpp",
    "math.h",
    "cmath",
    "cfloat",
    "climits",
    "cstdint",
    "cstddef",
    "limits",
}
WORDS = {
    "asm": "inline assembly",
    "__asm__": "inline assembly",
    "__asm": "inline assembly",
    "__attribute__": "an attribute of the compiler",
    "thread_local": "a variable of the host's threads",
    "throw": "an exception",
    "gpubench": "the harness's own code",
    "lab": "the checker's own code",
}
# What a compiled unit without any trick calls: the emulator's hooks, CUDA's language as the model
# has it, and libm.
ALLOWED = re.compile(
    r"(_GLOBAL_OFFSET_TABLE_|__tsan_\w+|__sanitizer_cov_\w+|__tls_get_addr|mem(cpy|move|set)"
    r"|_Unwind_Resume|__gxx_personality_v0|std::terminate\(\)"
    r"|(fma|a?(sin|cos|tan)h?|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sqrt|rsqrt|cbrt"
    r"|hypot|erf|erfc|fabs|floor|ceil|l?l?r(int|ound)|nearbyint|trunc|fmin|fmax|fmod|copysign|ldexp"
    r"|sincos)f?"
    r"|(threadIdx|blockIdx|blockDim|gridDim|__syncthreads|__syncwarp|__threadfence\w*|atomic\w+)(\(.*)?"
    r"|TLS (init|wrapper) function for .*"
    r"|gpubench::model::.*)"
)


def source_faults(lab: Lab, solution: Path) -> list[str]:
    """What the text of the solution must not have, with its line."""
    try:
        text = solution.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"{solution}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LabError(f"{solution}: not a text in UTF-8") from None
    code = without_comments(text)
    faults = []
    for number, line in enumerate(code.splitlines(), 1):
        where = f"{solution.name}:{number}"
        for trick, what in (("\\", "a backslash"), ("%:", "a digraph"), ("??", "a trigraph")):
            if trick in line:
                faults.append(f"{where}: {what} has no place in a solution")
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if directive:
            name, rest = directive.groups()
            included = re.match(r'[<"]([^>"]+)[>"]', rest)
            if name == "include" and included and included[1] in INCLUDES:
                continue
            if name == "pragma":
                continue
            why = (
                f"a solution may include {', '.join(sorted(INCLUDES))}"
                if name == "include"
                else "a solution is what it looks like, wherever it is compiled: no macros, no #if"
            )
            faults.append(f"{where}: {line.strip()}: {why}")
            continue
        for word in re.findall(r"[A-Za-z_]\w*", line):
            if word in WORDS:
                faults.append(f"{where}: {word}: {WORDS[word]} has no place in a solution")
    return faults


def without_comments(text: str) -> str:
    """The text with comments and strings blanked, lines kept."""
    pattern = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.S)

    def blank(found: re.Match[str]) -> str:
        token = found[0]
        return token if token.startswith('"') else re.sub(r"[^\n]", " ", token)

    return pattern.sub(blank, text)


def look_at(lab: Lab, unit: Path) -> None:
    """ForbiddenError: the unit calls what it must not, or has code that would run by itself."""
    listed = subprocess.run(
        ["nm", "--undefined-only", "--format=posix", str(unit)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    demangled = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    faults = []
    for clear in demangled:
        plain = clear.split("(")[0]
        if ALLOWED.fullmatch(clear) or plain in lab.host_code:
            continue
        faults.append(f"calls {plain}, which this lab does not allow")
    sections = subprocess.run(
        ["objdump", "--section-headers", str(unit)], capture_output=True, text=True, check=True
    ).stdout
    # The instrumentation itself has one, with a priority behind its name.
    if re.search(r"\.(init_array|ctors|preinit_array)\s", sections):
        faults.append("has code that runs before the checker does: a global that is computed")
    if faults:
        raise ForbiddenError(*faults)
