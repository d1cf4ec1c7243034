"""Which functions of a solution nvcc would take for host code, though kernels are to call them.

The model compiles host and device code alike, so nothing else on the way to a grade misses a
forgotten __device__ or __global__. Bodies are not looked into: a lambda is what its function is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .source import numbered_tokens

OPEN, CLOSED = ("(", "[", "{"), (")", "]", "}")
TYPES = {"class", "struct", "union"}
# Where such a word stands, nobody has to write __device__, or it is not this that says so.
OTHERWISE = {"constexpr", "consteval", "requires", "concept"}
BEHIND = {"const", "volatile", "noexcept", "override", "final", "&"}  # a parameter list
NO_NAMES = {"__launch_bounds__", "__align__", "alignas", "decltype", "explicit", "noexcept"}
MOST_WORDS = 100  # of a declaration that goes on behind braces

Numbered = tuple[int, str]  # the line and the token


def faults_of(text: str, name: str, kernels: Collection[str]) -> list[str]:
    """What to write in front of which function, with its line. `kernels`: what a lab launches."""
    return [f"{name}:{line}: {fault}" for line, fault in _Reader(kernels).read(text)]


@dataclass
class _Reader:
    kernels: Collection[str]
    declared: set[str] = field(default_factory=set)  # as device code, ahead of their definitions
    launched: set[str] = field(default_factory=set)  # __global__; others may have the same name
    not_launched: dict[str, int] = field(default_factory=dict)  # the lines of a kernel's namesakes

    def read(self, text: str) -> Iterator[tuple[int, str]]:
        yield from self._functions(text)
        for name, line in self.not_launched.items():
            if name not in self.launched:
                yield line, f"{name}() needs __global__: it is what the checker launches"

    def _functions(self, text: str) -> Iterator[tuple[int, str]]:
        head: list[Numbered] = []  # a declaration, as far as it was read
        skipped = 0  # braces that are open and whose contents do not matter
        body = False  # these are a function's
        for line, token in numbered_tokens(text):
            if skipped:
                skipped += (token == "{") - (token == "}")
                if not skipped and (body or len(head) > MOST_WORDS):
                    head, body = [], False
            elif token == "{":
                plain = _without_template([word for _, word in head])
                if _opens_scope(plain):
                    head = []
                    continue
                skipped, body = 1, _is_function(plain)
                if body:
                    yield from self._function(head, plain)
            elif token in ";}":
                words = [word for _, word in head]
                if "__device__" in words or "__global__" in words:
                    self.declared.add(_name(_without_template(words)))
                if "__global__" in words:
                    self.launched.add(_name(_without_template(words)))
                head = []
            else:
                head.append((line, token))

    def _function(self, head: list[Numbered], plain: list[str]) -> Iterator[tuple[int, str]]:
        words = {word for _, word in head}
        name = _name(plain)
        if "__global__" in words:
            self.launched.add(name)
        line = next((line for line, word in head if word == name), head[0][0])
        if words & OTHERWISE or name in self.declared:
            return
        if not words & {"__device__", "__global__"}:
            yield (
                line,
                f"{name}() has neither __global__ nor __device__: nvcc takes it for host code",
            )
        elif name in self.kernels and "__global__" not in words:
            self.not_launched.setdefault(name, line)


def _without_template(words: list[str]) -> list[str]:
    """Without `template <...>` in front."""
    while words[:2] == ["template", "<"]:
        depth = end = 1
        while depth and end < len(words) - 1:
            end += 1
            depth += (words[end] == "<") - (words[end] == ">")
        words = words[end + 1 :]
    return words


def _opens_scope(words: list[str]) -> bool:
    """Whether declarations are to follow: of a namespace's, or of a type's."""
    if "namespace" in words or (words[:1] == ["extern"] and len(words) == 2):
        return True
    return bool(TYPES.intersection(words)) and not _is_function(words) and "=" not in words


def _is_function(words: list[str]) -> bool:
    """Whether a function's body follows these."""
    top = _outside(words)
    if "operator" not in top and "=" in top:
        return False
    returned = [at for at in range(len(words)) if words[at : at + 2] == ["-", ">"]]
    if returned:
        words = words[: returned[-1]]
    while words and words[-1] in BEHIND:
        words = words[:-1]
    return words[-1:] == [")"]


def _outside(words: list[str]) -> list[str]:
    """Those within no brackets."""
    depth, top = 0, []
    for word in words:
        depth -= word in CLOSED
        if depth == 0:
            top.append(word)
        depth += word in OPEN
    return top


def _name(words: list[str]) -> str:
    """The name of the function that these declare."""
    if "operator" in words:
        at = words.index("operator")
        end = words.index("(", at + 1) if "(" in words[at + 1 :] else len(words)
        return "".join(words[at:end])
    for word, following in pairwise(words):
        if following == "(" and word.isidentifier() and word not in NO_NAMES:
            return word
    return next((word for word in reversed(words) if word.isidentifier()), "")
