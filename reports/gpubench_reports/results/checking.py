"""Values out of JSON that somebody else may have written: checked, or one error that says where."""

import json
import math
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import file_bytes, reason
from gpubench_reports.common.plain_text import clean

_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_LONGEST_PLACE = 200  # characters of an error line: a name may have thousands
# Far beyond anything physical in SI base units; keeps every later product finite.
LARGEST, _SMALLEST = 1e30, 1e-30


def is_in_range(number: float) -> bool:
    """Whether a result file may hold this number."""
    return number == 0 or _SMALLEST <= abs(number) <= LARGEST


def number_of(value: object) -> float:
    """A number, or the digits of one; NaN for anything else, and for what is out of range."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return math.nan
    return number if is_in_range(number) else math.nan


class _ConstantError(ValueError):
    """NaN or Infinity, which Python's parser would accept."""


def _refuse_constant(text: str) -> float:
    raise _ConstantError(text)


class _TwiceError(ValueError):
    """A key that stands twice in one object, of which Python's parser would take the last."""


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


def text_of(path: Path) -> str:
    """The text of the file at `path`; ReportError where there is none to be had."""
    try:
        return file_bytes(path).decode("utf-8-sig")
    except OSError as error:
        raise ReportError(path, f"cannot read: {reason(error)}") from None
    except UnicodeDecodeError:
        raise ReportError(path, "is not UTF-8 text") from None
    except ValueError:
        raise ReportError(path, "cannot read: not a file name") from None


def parse_toml(path: Path) -> dict[str, Any]:
    """The TOML document in `path`; ReportError for whatever is wrong with it."""
    try:
        return tomllib.loads(text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise ReportError(path, f"not valid TOML: {error}") from None
    except RecursionError:
        raise ReportError(path, "not valid TOML: nested too deeply") from None
    except ValueError:  # a whole number of thousands of digits
        raise ReportError(path, "holds a number that is too long to read") from None


def parse(path: Path) -> Any:
    """The JSON document in `path`; ReportError for whatever is wrong with it."""
    return json_of(path, text_of(path))


def json_of(path: Path, text: str) -> Any:
    """The JSON document `text`, out of `path`; ReportError for whatever is wrong with it."""
    if not text.strip():
        raise ReportError(path, "is empty")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object_of)
    except _TwiceError as error:
        raise ReportError(
            path, f"holds the key {shown(str(error))} twice in one object: only one can count"
        ) from None
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
        if len(where) > _LONGEST_PLACE:  # what is wrong has to be seen too
            where = f"{where[:_LONGEST_PLACE]}..."
        return ReportError(self.path, f"{where}: {problem}" if where else problem)

    def text(self, source: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
        value = source.get(key, default)
        if value is None and key not in source:
            raise self.fail(where, f"'{key}' is missing")
        if not isinstance(value, str):
            raise self.fail(where, f"'{key}' must be text, not {shown(value)}")
        return clean(value)

    def flag(self, source: dict[str, Any], key: str, where: str) -> bool:
        """Whether it is so: true or false; absent is false."""
        value = source.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(where, f"'{key}' must be true or false, not {shown(value)}")
        return value

    def number(self, value: Any, key: str, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(where, f"'{key}' must be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not is_in_range(number):
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


def share_of(check: Checker, row: dict[str, Any], key: str, where: str) -> float:
    """Whether something was so, 1 or 0; of a mean, how often. NaN where the row does not say."""
    if key not in row:
        return math.nan
    value = row[key]
    if isinstance(value, bool):
        return float(value)
    number = check.number(value, key, where)
    if not 0 <= number <= 1:
        raise check.fail(where, f"'{key}' must be true, false or from 0 to 1, not {shown(value)}")
    return number


def words_of(check: Checker, source: dict[str, Any], key: str, where: str) -> dict[str, str]:
    """An object of texts, such as units by name; empty where it is absent."""
    found = source.get(key, {})
    if not isinstance(found, dict):
        raise check.fail(where, f"'{key}' must be an object, not {shown(found)}")
    return {clean(name): check.text(found, name, f"{where}, '{key}'") for name in found}


def texts_of(check: Checker, source: dict[str, Any], key: str, where: str) -> list[str]:
    """A list of texts; empty where it is absent."""
    found = source.get(key, [])
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise check.fail(where, f"'{key}' must be a list of texts, not {shown(found)}")
    return [clean(text) for text in found]


def numbers_of(check: Checker, source: dict[str, Any], key: str, where: str) -> dict[str, float]:
    """An object of numbers; empty where it is absent."""
    found = source.get(key, {})
    if not isinstance(found, dict):
        raise check.fail(where, f"'{key}' must be an object, not {shown(found)}")
    return {
        clean(name): check.number(value, f"{key}.{clean(name)}", where)
        for name, value in found.items()
    }
