"""What a solution may consist of: device code, and nothing that could reach for the checker.

Three looks, since each sees what the others cannot: at the text (source.py, qualifiers.py), at the
assembly that the compiler makes of it (guarded.py), and here at the object, which may call nothing
but what is on a list.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from . import qualifiers, source
from .course import Lab
from .tools import output_of

MOST_SOURCE_BYTES = 256 << 10
MOST_ANSWERS_BYTES = 4 << 10  # tomllib slows with the square of a dotted name's parts


class ForbiddenError(Exception):
    """The solution does what it must not; the arguments are the reasons, a line each."""


class UnreadableError(Exception):
    """A submission's file that is no plain text file of its own; the argument says what it is."""


OF_LIBM = (
    r"(fma|a?(sin|cos|tan)h?|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sqrt|rsqrt|cbrt"
    r"|(sin|cos)pi|rcbrt|hypot|erf|erfc|fabs|floor|ceil|l?l?r(int|ound)|nearbyint|trunc|fmin|fmax|fmod|copysign"
    r"|ldexp|sincos)f?"
)
OF_CUDA = (
    r"(threadIdx|blockIdx|blockDim|gridDim|__syncthreads|__syncwarp|__threadfence\w*"
    r"|__syncthreads_(count|and|or)|atomic(Add|Sub|Exch|Min|Max|And|Or|Xor|Inc|Dec|CAS))"
    r"|__(cos|exp10|exp|log10|log2|log|sin|tan|pow|fdivide)f|__f(rcp|sqrt|rsqrt|add|mul|div)_rn"
    r"|__f(add|sub|mul|maf|ma)_r[zud]"  # those of doubles are not counted
)
OF_THE_MODEL = (
    r"gpubench::model::(dynamic_shared_memory|copy_bytes|set_bytes|shuffle|ballot|reduce|match"
    r"|round_to|round_to_tf32|value_of"
    r"|multiply_matrices|multiply_warpgroup_tiles|multiply_shared|load_matrices|commit_products"
    r"|wait_for_products|copy_asynchronously|commit_copies|wait_for_copies|grid_barrier"
    r"|Arithmetic16<[^()<>]*>::(add|multiply|divide|square_root|fuse|larger|smaller|pack"
    r"|hyperbolic_tangent))"
)
# The compiler's own, where the processor has no instruction: arithmetic, and nothing else.
OF_LIBGCC = (
    r"__(popcount|parity|clz|ctz|ffs|clrsb|bswap)[sdt]i2|__(neg|u?cmp)ti2"
    r"|__(mul|u?div|u?mod|ashl|ashr|lshr)ti3|__float(un)?[sdt]i[hsd]f|__fix(uns)?[hsd]f[sdt]i"
    r"|__(extend|trunc)[hsd]f[hsd]f2|__(eq|ne)hf2"
)
# What a compiled unit without any trick calls: the emulator's hooks, CUDA's language as the model
# has it, and libm. No atomics of the host's: those of a kernel are CUDA's.
ALLOWED = re.compile(
    r"_GLOBAL_OFFSET_TABLE_|__tls_get_addr|mem(cpy|move|set)|__sanitizer_cov_trace_pc"
    r"|__tsan_(init|func_entry|func_exit|((unaligned|volatile)_)?(read|write)\d+|(read|write)_range)"
    r"|__ubsan_handle_((shift_out_of_bounds|float_cast_overflow|out_of_bounds)_abort|missing_return)"
    r"|gpubench_guard(_enter|_leave)?"
    rf"|{OF_LIBM}|{OF_LIBGCC}|{OF_CUDA}|{OF_THE_MODEL}"
)


def text_of(path: Path, reference: Path | None = None, most_bytes: int = MOST_SOURCE_BYTES) -> str:
    """UnreadableError, unless `path` is a small file of its own, in UTF-8, and not `reference`."""
    try:
        # Not through links, which may lead to an answer; nor waiting for who writes into a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise UnreadableError("a link, and no file of its own") from None
        raise UnreadableError(error.strerror or "not readable") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise UnreadableError("not a file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UnreadableError(f"larger than {most_bytes >> 10} KiB")
    is_other = reference is not None and path.absolute() != reference.absolute()
    if is_other and reference and reference.exists() and os.path.samestat(found, reference.stat()):
        raise UnreadableError("the reference under another name")
    try:
        return data.decode("utf-8-sig")  # which editors begin with a mark, or without one
    except UnicodeDecodeError:
        raise UnreadableError("not a text in UTF-8") from None


def source_faults(lab: Lab, solution: Path) -> tuple[str, list[str]]:
    """The solution's text, and what it must not have, with its line."""
    try:
        text = text_of(solution, lab.reference)
    except UnreadableError as error:
        return "", [f"{solution.name}: {error}"]
    faults = source.faults_of(text, solution.name)
    if not faults and not lab.host_code:
        faults = qualifiers.faults_of(text, solution.name, lab.kernels)
    return text, faults


def look_at(lab: Lab, unit: Path) -> None:
    """ForbiddenError: the unit calls what it must not, or has code that would run by itself.
    TooMuchError: its names or its data have no end."""
    here = unit.parent
    listed = output_of(["nm", "--undefined-only", "--format=posix", str(unit)], here)
    names = [line.split()[0].removeprefix("gpubench_guarded_") for line in listed.splitlines()]
    demangled = output_of(["c++filt"], here, "\n".join(names)).splitlines()
    faults = []
    for clear in demangled:
        plain = clear.split("(")[0]
        if ALLOWED.fullmatch(plain) or plain in lab.host_code:
            continue
        faults.append(f"calls {plain}, which this lab does not allow")
    sections = output_of(["objdump", "--section-headers", str(unit)], here)
    # The instrumentation itself has one, with this priority behind its name.
    if re.search(r"\.(init_array|ctors|preinit_array|fini_array)(?!\.00099)\S*\s", sections):
        faults.append("has code that runs before the checker does: a global that is computed")
    if faults:
        raise ForbiddenError(*faults)
