"""Fixtures: result files made in code."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from gpubench_reports.charts import render, style
from gpubench_reports.pages.html.build import build as build_page
from gpubench_reports.results.reader import ResultFile, read

from .factory import make_document
from .html_pages import few_rows

# The same examples every time: a red build is then about the change under test.
settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def cheap_pictures():
    """Pictures of a sixth of the dots, drawn in this process: nobody looks at them, and two workers
    cost more to start than a small file's charts. Tests that start the program have it as it is."""
    fine, workers = style.DPI, render._WORKERS
    style.DPI, render._WORKERS = 60, 1
    yield
    style.DPI, render._WORKERS = fine, workers


@pytest.fixture
def write(tmp_path: Path):
    """write(document_or_text, name="run.json") -> path of the file."""

    def write_file(content: Any, name: str = "run.json") -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def load(write):
    """load(rows, **context changes) -> ResultFile, through a file like any other."""

    def load_rows(rows: list[dict[str, Any]] | None = None, **context: Any) -> ResultFile:
        return read(write(make_document(rows, **context)))

    return load_rows


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page of the few rows, measured and modelled."""
    directory, found = tmp_path_factory.mktemp("pages"), {}
    for kind in ("cuda", "model"):
        path = directory / f"{kind}.json"
        path.write_text(json.dumps(make_document(few_rows(), device_kind=kind)))
        found[kind] = build_page(read(path)).decode()
    return found
