"""What an error is that is planted in nvcc's PTX of the kernel tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    what: str
    file: str
    tests: str
    kernel: str
    pattern: str
    instead: str
    n: int = 0
    device: str = "h200-sxm"


def of(
    file: str,
    tests: str,
    kernel: str,
    *errors: tuple,  # type: ignore[type-arg]
    device: str = "h200-sxm",
) -> list[Mutation]:
    return [Mutation(what, file, tests, kernel, *rest, device=device) for what, *rest in errors]


NOTHING = ""  # the instruction is left out
MMA = r"(mma\.sync\S+ )\{(%f\d+), (%f\d+), "  # of mma.sync, its first two sums
