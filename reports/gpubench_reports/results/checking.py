"""Values out of JSON that somebody else may have written: checked, or one error that says where."""

import json
import math
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import reason

_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Far beyond anything physical in SI base units; keeps every later product finite.
LARGEST, _SMALLEST = 1e30, 1e-30


def clean(text: str) -> str:
    """`text` without what neither a terminal nor XML can hold; each becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _harmless(ord(c)) else "\ufffd" for c in text)


def _harmless(code: int) -> bool:
    control = code < 0x20 or 0x7F <= code < 0xA0 or code in (0x2028, 0x2029)
    surrogate = 0xD800 <= code <= 0xDFFF
    direction = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069  # would reorder the line
    return not (control or surrogate or direction or code & 0xFFFE == 0xFFFE)


class _ConstantError(ValueError):
    """NaN or Infinity, which Python's parser would accept."""


def _refuse_constant(text: str) -> float:
    raise _ConstantError(text)


def parse(path: Path) -> Any:
    """The JSON document in `path`; ReportError for whatever is wrong with it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ReportError(path, f"cannot read: {reason(error)}") from None
    except UnicodeDecodeError:
        raise ReportError(path, "not a result file: it is not UTF-8 text") from None
    except ValueError:
        raise ReportError(clean(str(path)), "cannot read: not a file name") from None
    if not text.strip():
        raise ReportError(path, "is empty")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except _ConstantError as error:
        raise ReportError(
            path, f"holds {error}, which JSON does not allow; a counter that is not known is absent"
        ) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
            raise ReportError(path, f"is truncated: the JSON stops at {where}") from None
        raise ReportError(path, f"not valid JSON at {where}: {error.msg}") from None
    except RecursionError:
        raise ReportError(path, "not a gpubench result file: nested too deeply") from None
    except ValueError:  # a whole number of thousands of digits
        raise ReportError(path, "holds a number that is too long to read") from None


class Checker:
    """Takes typed values out of JSON objects, or says which one is wrong and where."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, where: str, problem: str) -> ReportError:
        return ReportError(self.path, f"{where}: {problem}" if where else problem)

    def text(self, source: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
        value = source.get(key, default)
        if value is None and key not in source:
            raise self.fail(where, f"'{key}' is missing")
        if not isinstance(value, str):
            raise self.fail(where, f"'{key}' must be text, not {shown(value)}")
        return clean(value)

    def number(self, value: Any, key: str, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(where, f"'{key}' must be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if number != 0 and not _SMALLEST <= abs(number) <= LARGEST:
            raise self.fail(where, f"'{key}' is {shown(value)}, out of any range")
        return number

    def positive(self, source: dict[str, Any], key: str, where: str) -> float:
        if key not in source:
            raise self.fail(where, f"'{key}' is missing")
        number = self.number(source[key], key, where)
        if number <= 0:
            raise self.fail(where, f"'{key}' must be positive, not {shown(source[key])}")
        return number


def shown(value: Any) -> str:
    """A JSON value in an error line: short, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."


def seconds_of(check: Checker, row: dict[str, Any], where: str) -> float:
    """The row's time [s]."""
    unit = check.text(row, "time_unit", where, "ns")
    if unit not in _TIME_UNITS:
        raise check.fail(where, f"time_unit is {shown(unit)}, must be one of s, ms, us, ns")
    return check.positive(row, "real_time", where) * _TIME_UNITS[unit]


def words_of(check: Checker, source: dict[str, Any], key: str, where: str) -> dict[str, str]:
    """An object of texts, such as units by name; empty where it is absent."""
    found = source.get(key, {})
    if not isinstance(found, dict):
        raise check.fail(where, f"'{key}' must be an object, not {shown(found)}")
    return {clean(name): check.text(found, name, f"{where}, '{key}'") for name in found}
