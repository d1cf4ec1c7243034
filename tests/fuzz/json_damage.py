"""Damages values of JSON.

A change is a splice of the text: to change the document and write it anew takes 30 times as long,
which is more than most readers take.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from .waste import NUMBERS, RAW, TEXTS

_QUOTED = tuple(json.dumps(text) for text in TEXTS)
_NUMBERS = tuple(json.dumps(number) for number in NUMBERS)
_OTHERS = ("null", "true", "false", "[]", "{}", "[[]]", "[{}]", '{"": ""}', "[null]", '[1, "a"]')

Splice = tuple[int, int, str]  # from, to, and what stands there instead


@dataclass
class Place:
    """A value in the text: `begin` is where its key begins, or it itself where it has none.

    `removed` is what goes with it, a comma included. `siblings` is where the items of its list
    begin; a member of an object has none.
    """

    begin: int
    value_begin: int
    value: Any
    siblings: list[int]
    end: int = 0
    removed: tuple[int, int] = (0, 0)

    @property
    def has_key(self) -> bool:
        return self.begin != self.value_begin


class JsonDamage:
    """Damaged copies of one document."""

    def __init__(self, document: Any) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._places: list[Place] = []
        self._root = self._value(document, 0, [])
        self._places.pop(0)  # the document itself has chances of its own
        self._text = "".join(self._parts)

    def next(self, draw: random.Random) -> str:
        if not self._places or draw.random() < 0.002:
            return draw.choice((*_OTHERS, f"[{self._text}]", f'{{"a": {self._text}}}'))
        wanted = draw.choice((1, 1, 1, 2, 3))
        splices = [self._splice(draw.choice(self._places), draw) for _ in range(wanted)]
        found, limit = self._text, len(self._text)
        for begin, end, instead in sorted(splices, reverse=True):
            if end <= limit:  # of two that overlap, one is enough
                found = found[:begin] + instead + found[end:]
                limit = begin
        return found

    # --- where each value stands ------------------------------------------------------------------

    def _write(self, text: str) -> int:
        """Where the text ends."""
        self._parts.append(text)
        self._length += len(text)
        return self._length

    def _value(self, value: Any, begin: int, siblings: list[int]) -> Place:
        place = Place(begin, self._length, value, siblings)
        self._places.append(place)
        if isinstance(value, dict):
            self._write("{")
            self._parts_of([(json.dumps(key) + ": ", inner) for key, inner in value.items()], None)
            self._write("}")
        elif isinstance(value, list):
            self._write("[")
            self._parts_of([("", inner) for inner in value], [])
            self._write("]")
        else:
            self._write(json.dumps(value))
        place.end = self._length
        return place

    def _parts_of(self, parts: list[tuple[str, Any]], items: list[int] | None) -> None:
        previous_end = 0
        for number, (key, inner) in enumerate(parts):
            if number:
                self._write(", ")
            begin = self._length
            self._write(key)
            if items is not None:
                items.append(begin)
            place = self._value(inner, begin, items or [])
            comma = 2 if len(parts) > 1 and not number else 0  # behind the first, before others
            place.removed = (previous_end if number else begin, place.end + comma)
            previous_end = place.end

    # --- what is done to one ----------------------------------------------------------------------

    def _splice(self, place: Place, draw: random.Random) -> Splice:
        action = draw.randrange(12)
        if action == 0:
            return (*place.removed, "")
        if action == 1 and place.has_key:
            return place.begin, place.value_begin, draw.choice(_QUOTED) + ": "
        if action == 2 and place.siblings:
            at = draw.choice(place.siblings)
            return at, at, self._text_of(place) + ", "
        return place.value_begin, place.end, self._instead(action, place, draw)

    def _instead(self, action: int, place: Place, draw: random.Random) -> str:
        if action == 3:
            text = self._text_of(place)
            return draw.choice((f"[{text}]", f'{{"value": {text}}}', json.dumps(str(place.value))))
        if action == 4:
            return self._text_of(draw.choice(self._places) if draw.random() < 0.97 else self._root)
        if action == 5:
            return draw.choice(RAW)
        if action in (6, 7):
            return draw.choice(_QUOTED)
        if action in (8, 9):
            return draw.choice(_NUMBERS)
        if action == 10:
            return json.dumps(_near(place.value, draw))
        return draw.choice(_OTHERS)

    def _text_of(self, place: Place) -> str:
        return self._text[place.value_begin : place.end]


def _near(value: Any, draw: random.Random) -> Any:
    """Something like `value`."""
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
    return {**value, draw.choice(TEXTS): draw.choice(NUMBERS)}
