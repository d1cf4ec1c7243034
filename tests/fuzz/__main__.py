"""Runs damaged inputs through every reader, and prints what came of them, one line per reader.

python -m fuzz                      10,000 inputs per reader
python -m fuzz --inputs=1000000 result trace
python -m fuzz --minutes=5          as many of them as 5 minutes allow, for each reader
python -m fuzz --keep=FOLDER        writes an input of each crash there
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import takewhile
from pathlib import Path

from .readers import READERS
from .trial import Outcome, damaged, limit_memory, name_of, try_inputs


def _run(name: str, inputs: int, seed: int, minutes: float) -> Outcome:
    limit_memory()
    end = time.monotonic() + 60 * minutes
    tried = damaged(READERS[name], inputs, seed)
    return try_inputs(name, READERS[name], takewhile(lambda _: time.monotonic() < end, tried))


def _print(found: Outcome) -> None:
    print(
        f"{found.reader:20} {found.inputs:>9} {found.refused:>9} {len(found.crashes):>8}"
        f" {len(found.hangs):>6} {found.slowest_seconds:>9.3f} {found.peak_bytes / 1e6:>8.0f}"
        f" {found.seconds:>8.0f}",
        flush=True,
    )
    for place in (*found.crashes, *found.hangs):
        print(f"    {place}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="damaged inputs for every reader")
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(READERS))
    parser.add_argument("--inputs", type=int, default=10_000, help="for each reader")
    parser.add_argument("--minutes", type=float, default=math.inf, help="at most, for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for an input of each crash")
    options = parser.parse_args()
    if unknown := sorted(set(options.readers) - set(READERS)):
        parser.error(f"no reader is called {unknown[0]!r}; there are {', '.join(READERS)}")
    print(
        f"{'reader':20} {'inputs':>9} {'refused':>9} {'crashes':>8} {'hangs':>6}"
        f" {'slowest s':>9} {'peak MB':>8} {'CPU s':>8}"
    )
    clean = True
    for name in options.readers or READERS:
        # A process of its own: its memory is what this reader took.
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as own:
            found = own.submit(_run, name, options.inputs, options.seed, options.minutes).result()
        _print(found)
        clean = clean and found.is_clean
        if options.keep:
            for data in (*found.crashes.values(), *found.hangs.values()):
                folder = options.keep / name.replace(" ", "-")
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name_of(data)).write_bytes(data)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
