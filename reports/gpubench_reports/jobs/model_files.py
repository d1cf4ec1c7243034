"""Models from files: one of them in JSON or TOML, or all that `gpubench-report job` trains."""

import dataclasses
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.model import Model
from gpubench_reports.results.checking import Checker, parse_toml

_SHAPE = [field.name for field in dataclasses.fields(Model) if field.name != "name"]
_FLAGS = ("gated", "tied")
_MOST = 10**9

Models = tuple[tuple[Model, int], ...]  # each with its sequence length


@cache
def shipped_models() -> Models:
    return models_of(Path(str(files("gpubench_reports.jobs").joinpath("models.toml"))))


def models_of(path: Path) -> Models:
    """The models of a file like models.toml. Raises ReportError."""
    entries = parse_toml(path).get("models")
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(e, dict) for e in entries)
    ):
        raise ReportError(path, "must have one or more [[models]]")
    check = Checker(path)
    found = []
    for entry in entries:
        name = check.text(entry, "name", "a model")
        where = f"model '{name}'"
        shape = {key: value for key, value in entry.items() if key not in ("name", "sequence")}
        sequence = count_of(check, entry, "sequence", where)
        found.append((model_of(check, shape, name, where), sequence))
    return tuple(found)


def model_of(check: Checker, entry: Any, name: str, where: str) -> Model:
    if not isinstance(entry, dict) or set(entry) != set(_SHAPE):
        raise check.fail(where, f"'model' must be an object with {', '.join(_SHAPE)}")
    fields: dict[str, Any] = {
        key: (flag_of if key in _FLAGS else count_of)(check, entry, key, where) for key in _SHAPE
    }
    model = Model(name, **fields)
    if model.hidden % model.heads or model.heads % model.kv_heads:
        raise check.fail(where, "'hidden' must be a multiple of 'heads', and that of 'kv_heads'")
    return model


def count_of(check: Checker, entry: dict[str, Any], key: str, where: str) -> int:
    number = check.positive(entry, key, where)
    if number != int(number) or number > _MOST:
        raise check.fail(where, f"'{key}' must be a whole number of at most {_MOST}")
    return int(number)


def flag_of(check: Checker, entry: dict[str, Any], key: str, where: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise check.fail(where, f"'{key}' must be true or false")
    return value
