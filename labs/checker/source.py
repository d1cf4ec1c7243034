"""What the text of a solution must not have: anything that is not CUDA's language.

It is read as the compiler reads it, token by token. What would make the two readings differ, such
as raw strings, lines that go on, digraphs and macros that hide a word, has no place in a solution
at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

INCLUDES = {
    "cuda_runtime.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "mma.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cuda_pipeline_primitives.h",
    "dynamic_shared.hpp",
    "warp_mma.hpp",
    "math_constants.h",
    *("cmath", "cfloat", "climits", "cstdint", "cstddef", "cassert"),
    *("math.h", "float.h", "limits.h", "stdint.h", "stddef.h", "assert.h"),
    *("algorithm", "array", "limits", "type_traits", "utility"),
}
WORDS = {
    "asm": "inline assembly",
    "thread_local": "a variable of the host's threads",
    "throw": "an exception",
    "try": "an exception",
    "catch": "an exception",
    "gpubench": "the harness's own code",
    "lab": "the checker's own code",
    "virtual": "a function that only the run knows",
    "module": "a module",
    "import": "a module",
    "export": "a module",
    "co_await": "a coroutine",
    "co_yield": "a coroutine",
    "co_return": "a coroutine",
}
ATTRIBUTES = {"fallthrough", "likely", "maybe_unused", "nodiscard", "unlikely"}
# Names that the language reserves are the compiler's and the harness's, but for CUDA's own.
RESERVED = re.compile(r"_[A-Z_].*|.*__.*|gpubench_.*", re.S)
CUDAS = re.compile(
    r"__(global|device|host|shared|restrict|launch_bounds|forceinline|noinline|inline|align"
    r"|grid_constant)__|__(restrict|inline)"
    r"|__(syncthreads(_and|_or|_count)?|syncwarp|threadfence(_block|_system)?|nanosleep)"
    r"|__(half|half2|nv_\w+|float_to_tf32|longlong_as_double)"
    r"|__(popc|clz|ffs|brev)(ll)?|__u?mul(24|hi|64hi)"
    r"|__(byte_perm|dp4a|dp2a_(lo|hi)|funnelshift_[lr]c?|trap|hiloint2double)"
    r"|__u?r?hadd|__u?sad|__u?ll2(float|double)_rn|__v[a-z]+[24]"
    r"|__ld(g|ca|cg|cs|lu|cv)|__st(wb|cg|cs|wt)"
    r"|__(shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all|match_any|match_all)_sync"
    r"|__reduce_(add|min|max|and|or|xor)_sync"
    r"|__(cos|exp10|exp|log10|log2|log|sin|tan|pow|fdivide|saturate)f"
    r"|__f(rcp|sqrt|rsqrt|add|sub|mul|div|maf|ma)_rn|__d(add|sub|mul|div|sqrt)_rn"
    r"|__f(add|sub|mul|maf|ma)_r[zud]"
    r"|__pipeline_(memcpy_async|commit|wait_prior)"
    r"|__h2?[a-z]+\d?(_rn|_nan)?|__(float|double|int|uint|ushort|half|bfloat16|low|high|halves)\w*"
    r"|__(lows|highs|floats)\w*2\w*"
)
# A macro that is the name of a number, or of an expression of numbers and such names.
NUMBER_NAMED = re.compile(
    r"\s*#\s*define\s+(?!\w*__)[A-Z][A-Z0-9_]*\s(?!.*/\*)(?P<value>[-+*/%()<>\w.\s]+)", re.A
)
NUMBER_OR_NAME = re.compile(r"\.?\d[\w.]*|[A-Z][A-Z0-9_]*", re.A)
TOKENS = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<raw>(?:u8|[uUL])?R\")"
    r"|(?P<string>(?:u8|[uUL])?\"(?:\\.|[^\"\\\n])*\")"
    r"|(?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)"
    r"|(?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')"
    # What nobody ends is read once, to where it ends by itself.
    r"|(?P<open>/\*.*|\"(?:\\.|[^\"\\\n])*|'(?:\\.|[^'\\\n])*)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<blank>\s+)"
    r"|(?P<other>.)",
    re.S | re.A,
)


def faults_of(text: str, name: str) -> list[str]:
    """What a solution of that file name must not have, with its line."""
    faults: dict[str, None] = {}
    code = TOKENS.sub(_without_comment, text).split("\n")
    for number, line in enumerate(text.split("\n"), 1):
        for wrong in _of_line(line, code[number - 1]):
            faults[f"{name}:{number}: {wrong} has no place in a solution"] = None
    for number, tokens in _by_line(text):
        for wrong in _of_tokens(tokens, code[number - 1]):
            faults[f"{name}:{number}: {wrong}"] = None
    return list(faults)


def _without_comment(found: re.Match[str]) -> str:
    """Blanks instead of a comment, but for the marks of one that goes on in the next line."""
    if found.lastgroup != "comment":
        return found[0]
    blank = re.sub(r"[^\n]", " ", found[0])
    return "/*" + blank[2:] if "\n" in blank else blank


def _of_line(line: str, code: str) -> Iterator[str]:
    """What would hide a line's text from whoever reads it; `code`: the line without comments."""
    if line.rstrip().endswith("\\"):
        yield "a backslash at the end of a line"
    if any(digraph in code for digraph in ("%:", "<:", ":>", "<%", "%>")):
        yield "a digraph"
    if re.search(r"[\0-\b\v\f\x0e-\x1f\x7f]|\r.", line):
        yield "a control character"


Token = tuple[str, str]  # kind and text


def _by_line(text: str) -> Iterator[tuple[int, list[Token]]]:
    """The tokens that begin in a line, for every line; comments and blanks left out."""
    number, line = 1, list[Token]()
    for found in TOKENS.finditer(text):
        kind, token = str(found.lastgroup), found[0]
        if kind not in ("comment", "blank"):
            line.append((kind, token))
        if "\n" in token:
            yield number, line
            number, line = number + token.count("\n"), []
    yield number, line


def numbered_tokens(text: str) -> Iterator[tuple[int, str]]:
    """The tokens but for those of directives, with their lines."""
    for number, tokens in _by_line(text):
        if tokens and tokens[0][1] != "#":
            yield from ((number, token) for _, token in tokens)


def _of_tokens(tokens: list[Token], line: str) -> Iterator[str]:
    """`line`: the one that they begin in, without comments that end there."""
    if tokens and tokens[0][1] == "#":
        yield from _of_directive(tokens, line)
        return
    for i, (kind, token) in enumerate(tokens):
        if kind == "raw":
            yield "a raw string has no place in a solution"
        elif kind == "open":
            what = "comment" if token.startswith("/*") else "quotation"
            yield f"a {what} without an end has no place in a solution"
        elif kind == "other" and (token in "\\@`\"'" or not token.isascii()):
            what = "a backslash" if token == "\\" else f"the character {token!r}"
            yield f"{what} has no place in a solution"
        elif kind == "word" and token in WORDS:
            yield f"{token}: {WORDS[token]} has no place in a solution"
        elif kind == "word" and RESERVED.fullmatch(token) and not CUDAS.fullmatch(token):
            yield (
                f"{token}: not among the names of CUDA that the labs know; other names with an "
                "underscore in front or two within are the compiler's"
            )
        elif token == "extern" and tokens[i + 1 : i + 2] == [("word", "__shared__")]:
            yield (
                "extern __shared__: the labs have dynamic_shared() for that, of "
                '#include "dynamic_shared.hpp"'
            )
        elif token == "__shared__" and tokens[i + 1 : i + 2] == [("word", "alignas")]:
            yield "__shared__ alignas(...): write alignas(...) in front of __shared__"
        elif token == "[" and [t for _, t in tokens[i : i + 2]] == ["[", "["]:
            names = [t for k, t in tokens[i + 2 : i + 8] if k == "word" or t in ":]"]
            if not names or names[0] not in ATTRIBUTES or names[1:2] != ["]"]:
                shown = "".join(names[:4]).rstrip("]")
                yield f"[[{shown}]]: an attribute has no place in a solution"


def _names_a_number(line: str) -> bool:
    found = NUMBER_NAMED.fullmatch(line)
    return found is not None and all(
        NUMBER_OR_NAME.fullmatch(word) for word in re.findall(r"[\w.]+", found["value"])
    )


def _of_directive(tokens: list[Token], line: str) -> Iterator[str]:
    words = [token for _, token in tokens[1:]]
    shown = "#" + " ".join(words)
    if words[:1] == ["include"]:
        name = "".join(words[1:])
        if not (name[:1] + name[-1:] in ("<>", '""') and name[1:-1] in INCLUDES):
            yield f"#include {name}: a solution may include {', '.join(sorted(INCLUDES))}"
    elif words[:1] == ["pragma"]:
        if words[1:2] not in (["once"], ["unroll"]) or not all(
            re.fullmatch(r"\w+|[-()+*/%<>]+", word) for word in words[2:]
        ):
            yield (
                f"{shown}: a pragma has no place in a solution, but for once and unroll, "
                "which takes an expression of names and numbers"
            )
    elif words[:1] == ["define"]:
        if not _names_a_number(line):
            yield (
                f"{shown}: a macro has no place in a solution, but for a number's name in capitals "
                "on one line, such as #define TILE 32"
            )
    else:
        yield (
            f"{shown}: a solution is what it looks like, wherever it is compiled: no #if (#pragma "
            "once keeps a file from being included twice)"
        )
