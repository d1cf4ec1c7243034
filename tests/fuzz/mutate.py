"""Damages inputs: bytes of any file, values of JSON, cells of tables.

A damaged input should still get past a reader's first check now and then, so most damage is one or
two small changes of an input that is right.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

# Numbers that are no JSON, or more than a double or an int holds, stand here as text: they are put
# into the text of the document.
RAW = (
    *("NaN", "-Infinity", "1e400", "-1e400", "1e-400", "1" * 400, "9" * 5000, "-0", "-0.0"),
    *("[" * 3000, '{"a":' * 3000, "[" * 200_000, "0x10", "+1", "01", "'a'", "tru", '"\\u12"', ""),
    *('{"a":1,"a":2}', '"\\ud800"', '"\\u0000"', "1e308", "-1e308", "4.9e-324"),
)
TEXTS = (
    *("", " ", "\n", "\t", "\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "\u202eevil", "\u2066"),
    *("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "|", "<script>", "&amp;", "]]>", "\u2028", "\0"),
    *("²", "٣", "½", "Ⅳ", "1_000", "1e5", "nan", "inf", "-inf", "1e400", "0x1p3", " 1 ", "١٢٣"),
    *("\ud800", "\ufffe", "ab" * 3000, "/" * 200, ":" * 200, "../../etc/passwd", "%s%n", "{0}"),
    *("{x.y}", "\\", "'", '"', "(", "[", "*", "a/b/c:1/d:2", "//", ":", "model", "cuda", "seconds"),
)
NUMBERS = (
    *(0, 1, -1, 2, 7, 31, 32, 33, 255, 256, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63, 2**64),
    *(10**30, 10**31, 10**309, -(2**63), -(2**64), 0.5, 1.5, -0.0, 1e-9, 1e-30, 1e-31, 1e-300),
    *(5e-324, 1e15, 1e30, 1e31, 1e154, 1e155, 1e300, 1.7e308, -1e300, 0.1, 1 / 3),
)
# As text, so that each use is a fresh copy.
OTHERS = ("null", "true", "false", "[]", "{}", "[[]]", "[{}]", '{"": ""}', "[null]", '[1, "a"]')
BYTES = (
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    *(b"\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xe2\x80\xa8", b"\x1b[2J"),
    *(b'"', b"'", b",", b"|", b";", b"[", b"]", b"{", b"}", b"\\", b"#", b"-", b"1e999", b"."),
)
_SEPARATORS = (" ", "\t", ",", "|", ":", "", "\n", "  ", ";", "=")
_LARGEST_WASTE = 1 << 16  # bytes; what is larger says nothing more and takes longer

Path_ = tuple[Any, ...]


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
            data = self._json(document)
            return self._bytes(data) if kind < 0.04 else data
        if document is None and kind < 0.7:
            return self._table(self._seeds[chosen])
        return self._bytes(self._seeds[chosen])

    # --- JSON -------------------------------------------------------------------------------------

    def _json(self, text: str) -> bytes:
        draw = self._draw
        document = json.loads(text)
        raw: dict[str, str] = {}
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            places = list(_places(document))
            path = draw.choice(places)
            document = self._damaged(document, path, places, raw)
        found = json.dumps(document)
        for mark, value in raw.items():
            found = found.replace(f'"{mark}"', value, 1)
        return found.encode("utf-8")

    def _damaged(self, document: Any, path: Path_, places: list[Path_], raw: dict[str, str]) -> Any:
        draw = self._draw
        if not path:
            if draw.random() < 0.9:
                return document
            return draw.choice((json.loads(draw.choice(OTHERS)), [document], {"a": document}))
        parent = document
        for step in path[:-1]:
            parent = parent[step]
        key = path[-1]
        action = draw.randrange(12)
        if action == 0:
            del parent[key]
        elif action == 1 and isinstance(parent, dict):
            parent[draw.choice(TEXTS)] = parent.pop(key)
        elif action == 2 and isinstance(parent, list):
            parent.insert(draw.randrange(len(parent) + 1), parent[key])
        elif action == 3:
            parent[key] = draw.choice(([parent[key]], {"value": parent[key]}, str(parent[key])))
        elif action == 4:
            parent[key] = json.loads(json.dumps(_at(document, draw.choice(places))))
        elif action == 5:
            mark = f"@raw{len(raw)}@"
            raw[mark] = draw.choice(RAW)
            parent[key] = mark
        elif action in (6, 7):
            parent[key] = draw.choice(TEXTS)
        elif action in (8, 9):
            parent[key] = draw.choice(NUMBERS)
        elif action == 10:
            parent[key] = self._near(parent[key])
        else:
            parent[key] = json.loads(draw.choice(OTHERS))
        return document

    def _near(self, value: Any) -> Any:
        """Something like `value`."""
        draw = self._draw
        if isinstance(value, bool) or value is None:
            return not value
        if isinstance(value, (int, float)):
            scale = min(max(value, -1e300), 1e300)  # a whole number may have any size
            return draw.choice((-value, value + 1, value - 1, scale * 1e10, scale * 1e-10, 0))
        if isinstance(value, str):
            at = draw.randrange(len(value) + 1)
            return value[:at] + draw.choice(TEXTS) + value[at:]
        if isinstance(value, list):
            return value[: draw.randrange(len(value) + 1)] * draw.choice((1, 2, 40))
        kept = dict(value)
        kept[draw.choice(TEXTS)] = draw.choice(NUMBERS)
        return kept

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


def _document(seed: bytes) -> str | None:
    """The text of a seed that is JSON, shorter; None for any other."""
    try:
        return json.dumps(json.loads(seed))
    except ValueError:
        return None


def _places(value: Any, path: Path_ = ()) -> list[Path_]:
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            found += _places(inner, (*path, at))
    return found


def _at(document: Any, path: Path_) -> Any:
    for step in path:
        document = document[step]
    return document
