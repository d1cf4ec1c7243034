"""Modules that only some commands need, so that not everybody has them."""

import importlib
import shlex
import sys
from typing import Any

from gpubench_reports.common.errors import ReportError

_TITLES = {"duckdb": "DuckDB", "otava.analysis": "Apache Otava", "scipy": "SciPy"}


def load_module(name: str, needed_by: str, extra: str) -> Any:
    """The module; where it is not installed, a ReportError about `needed_by` that says how to get
    it: with the package's `extra`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        install = f"{shlex.quote(sys.executable)} -m pip install 'gpubench-reports[{extra}]'"
        raise ReportError(needed_by, f"needs {_TITLES[name]}: {install}") from None
