"""Modules that only some commands need, so that not everybody has them."""

import importlib
from typing import Any

from gpubench_reports.common.errors import ReportError

_TITLES = {"duckdb": "DuckDB", "scipy": "SciPy"}


def load_module(name: str, needed_by: str) -> Any:
    """The module; where it is not installed, a ReportError about `needed_by` that says how to get
    it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ReportError(
            needed_by, f"needs {_TITLES[name]}: pip install 'gpubench-reports[fleet]'"
        ) from None
