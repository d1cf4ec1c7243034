"""Where the files lie that a run writes next to its result file."""

from pathlib import Path


def companion_of(result: Path, what: str) -> Path:
    """NAME.samples.jsonl next to NAME.json; a name without .json is kept whole, as the program does
    it: two results share no file."""
    if result.suffix == ".json":
        return result.with_suffix(f".{what}")
    return result.with_name(f"{result.name}-{what}")
