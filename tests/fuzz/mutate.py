"""Damages inputs: bytes of any file, values of JSON, cells of tables.

A damaged input should still get past a reader's first check now and then, so most damage is one or
two small changes of an input that is right.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from .json_damage import JsonDamage
from .waste import NUMBERS, TEXTS

BYTES = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(b"\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xe2\x80\xa8", b"\x1b[2J"),
    *(b'"', b"'", b",", b"|", b";", b"[", b"]", b"{", b"}", b"\\", b"#", b"-", b"1e999", b"."),
)
_SEPARATORS = (" ", "\t", ",", "|", ":", "", "\n", "  ", ";", "=")
_LARGEST_WASTE = 1 << 16  # bytes; what is larger says nothing more and takes longer


class Mutator:
    """Damaged copies of `seeds`, the same ones for the same seed of `random`."""

    def __init__(self, seeds: Sequence[bytes], draw: random.Random) -> None:
        self._seeds = list(seeds)
        self._draw = draw
        self._documents = [_document(seed) for seed in seeds]

    def next(self) -> bytes:
        draw = self._draw
        chosen = draw.randrange(len(self._seeds))
        document = self._documents[chosen]
        kind = draw.random()
        if document is not None and kind < 0.8:
            data = document.next(draw).encode()
            return self._bytes(data) if kind < 0.04 else data
        if document is None and kind < 0.7:
            return self._table(self._seeds[chosen])
        return self._bytes(self._seeds[chosen])

    # --- tables -----------------------------------------------------------------------------------

    def _table(self, seed: bytes) -> bytes:
        draw = self._draw
        lines = seed.decode("utf-8", "replace").split("\n")
        for _ in range(draw.choice((1, 1, 2, 3))):
            at = draw.randrange(len(lines))
            action = draw.randrange(10)
            if action == 0:
                lines.pop(at)
                lines = lines or [""]
            elif action == 1:
                lines.insert(at, lines[draw.randrange(len(lines))])
            elif action == 2:
                other = draw.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            elif action == 3:
                lines[at] = lines[at][: draw.randrange(len(lines[at]) + 1)]
            elif action == 4:
                place = draw.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:place] + draw.choice(TEXTS) + lines[at][place:]
            else:
                lines[at] = self._cells(lines[at])
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    def _cells(self, line: str) -> str:
        """The line with one of its cells damaged."""
        draw = self._draw
        separator = draw.choice([s for s in _SEPARATORS if s and s in line] or [" "])
        cells = line.split(separator)
        at = draw.randrange(len(cells))
        action = draw.randrange(5)
        if action == 0:
            cells.pop(at)
        elif action == 1:
            cells.insert(at, draw.choice(cells))
        elif action == 2:
            cells[at] = str(draw.choice(NUMBERS))
        elif action == 3:
            cells[at] = draw.choice((*TEXTS, "1" * 400, "9" * 5000))
        else:
            separator = draw.choice(_SEPARATORS)
        return separator.join(cells)

    # --- bytes ------------------------------------------------------------------------------------

    def _bytes(self, seed: bytes) -> bytes:
        draw = self._draw
        data = bytearray(seed)
        for _ in range(draw.choice((1, 1, 2, 4, 8))):
            at = draw.randrange(len(data) + 1)
            end = min(len(data), at + draw.choice((1, 1, 2, 8, 100)))
            action = draw.randrange(7)
            if action == 0 and data:
                data[at % len(data)] = draw.randrange(256)
            elif action == 1:
                data[at:at] = draw.choice(BYTES)
            elif action == 2:
                del data[at:end]
            elif action == 3:
                data[at:at] = data[at:end] * draw.choice((1, 2, 50))
            elif action == 4:
                other = draw.choice(self._seeds)
                data[at:] = other[draw.randrange(len(other) + 1) :]
            elif action == 5:
                del data[at:]
            else:
                data[at:end] = draw.choice(BYTES)
        return bytes(data[:_LARGEST_WASTE])


def _document(seed: bytes) -> JsonDamage | None:
    """A seed that is JSON; None for any other."""
    try:
        return JsonDamage(json.loads(seed))
    except ValueError:
        return None
