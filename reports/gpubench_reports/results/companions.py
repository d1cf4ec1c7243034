"""Where the files lie that a run writes next to its result file."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_COMPANIONS = ("samples.jsonl", "series.jsonl", "explain.json")


def companion_of(result: Path, what: str) -> Path:
    """NAME.samples.jsonl next to NAME.json; a name without .json is kept whole, as the program does
    it: two results share no file. Behind a link, next to the file that the link leads to."""
    result = _behind_links(result)
    if result.suffix == ".json":
        return result.with_suffix(f".{what}")
    return result.with_name(f"{result.name}-{what}")


def _behind_links(result: Path) -> Path:
    return Path(os.path.realpath(result)) if result.is_symlink() else result


def with_companions(results: Iterable[Path]) -> Iterator[Path]:
    """The result files and all that may lie next to them: the raw samples cannot be made again, so
    that no report may replace them, whether it reads them or not."""
    for result in results:
        yield result
        if result.name:  # a folder's ".." has no file beside it
            yield from (companion_of(result, what) for what in _COMPANIONS)
            yield result.with_suffix(".trace.json")
            real = _behind_links(result)
            yield from (real.with_name(real.name + end) for end in (".journal", ".journal.old"))
