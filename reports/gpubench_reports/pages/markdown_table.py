"""A table in Markdown."""

from collections.abc import Iterable, Sequence


def markdown_table(titles: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(titles)} |",
        f"|{'---|' * len(titles)}",
        *(f"| {' | '.join(line)} |" for line in lines),
    ]
