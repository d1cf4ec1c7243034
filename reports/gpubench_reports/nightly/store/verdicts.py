"""What verdict.json holds: judging/judge.py writes it, and everything else reads it."""

import math
from collections.abc import Callable
from typing import Any

Holds = Callable[[Any], bool]


def is_verdict(document: dict[str, Any]) -> bool:
    """Whether it holds what is read from it, however it came to be there."""
    return _has(document, _VERDICT, {"blind": _list_of(_is_blind)})


def _has(document: Any, always: dict[str, Holds], perhaps: dict[str, Holds] | None = None) -> bool:
    return (
        isinstance(document, dict)
        and all(key in document and holds(document[key]) for key, holds in always.items())
        and all(holds(document[key]) for key, holds in (perhaps or {}).items() if key in document)
    )


def _list_of(holds: Holds) -> Holds:
    return lambda value: isinstance(value, list) and all(map(holds, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def _is_ratio_or_time(value: Any) -> bool:
    return type(value) is float and 0 < value < math.inf


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _is_change(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_pair, value.values()))


def _are_commits(value: Any) -> bool:
    return _is_pair(value) and all(map(_is_text, value))


def _is_provisional(value: Any) -> bool:
    """device, mode, name, and whether it is slower (1) or faster (-1)."""
    return (
        isinstance(value, list)
        and len(value) == 4
        and all(map(_is_text, value[:3]))
        and value[3] in (1, -1)
    )


_SERIES: dict[str, Holds] = dict.fromkeys(("device", "mode", "benchmark"), _is_text)
_EVENT: dict[str, Holds] = {
    **_SERIES,
    **dict.fromkeys(("kind", "class", "how"), _is_text),
    **dict.fromkeys(("before", "after", "reference"), _is_ratio_or_time),
    **dict.fromkeys(("night", "first_night"), _is_number),
    "environment": lambda value: isinstance(value, dict),
    "slower": lambda value: isinstance(value, bool),
}
_IN_SOME_EVENTS: dict[str, Holds] = {
    "rows": _list_of(_is_text),
    "date": _is_text,
    "commits": _are_commits,
}


def _is_event(value: Any) -> bool:
    return _has(value, _EVENT, _IN_SOME_EVENTS)


def _is_missing(value: Any) -> bool:
    return _has(value, {**_SERIES, "why": _is_text}, {"last_night": _is_number})


def _is_segment(value: Any) -> bool:
    return _has(value, {**_SERIES, "changed": _is_change, "ratio": _is_ratio_or_time})


def _is_blind(value: Any) -> bool:
    return _has(value, {**_SERIES, "why": _is_text})


_VERDICT: dict[str, Holds] = {
    **dict.fromkeys(("night", "judged", "learning"), _is_number),
    "provisional": _list_of(_is_provisional),
    "events": _list_of(_is_event),
    "missing": _list_of(_is_missing),
    "segments": _list_of(_is_segment),
}
