"""Draws every chart that a result file supports and writes it as PNG and SVG."""

import multiprocessing
import os
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from gpubench_reports import concept_chart, roofline, style, wire_chart
from gpubench_reports.errors import ReportError
from gpubench_reports.files import ensure_directory, write_atomically
from gpubench_reports.reader import Context, ResultFile

_WORKERS = 2
# Concept, its rows, the file's context -> the figure, None when there is nothing to draw.
Builder = Callable[[str, pd.DataFrame, Context], Figure | None]


def default_directory(result: Path) -> Path:
    """Where the charts of a result file go unless told otherwise: NAME-charts beside NAME.json."""
    return result.parent / f"{result.stem}-charts"


def render(result: ResultFile, directory: Path) -> list[Path]:
    """Writes all charts of `result` into `directory`; returns the paths, rooflines first.

    Raises ReportError when nothing can be drawn or written.
    """
    ensure_directory(directory)
    concepts = list(dict.fromkeys(result.ok["concept"]))
    names = chart_names(concepts)
    jobs: list[tuple[Builder, str | None, Path]] = [(_roofline, None, directory / "roofline")]
    for concept in concepts:
        stem = directory / names[concept]
        jobs.append((concept_chart.build, concept, stem))
        if result.ok.loc[result.ok["concept"] == concept, "bus_bytes_per_second"].notna().any():
            jobs.append((wire_chart.build, concept, stem.with_name(f"{stem.name}-wire")))
    workers = min(_WORKERS, os.cpu_count() or 1, len(jobs))
    if workers > 1 and "fork" in multiprocessing.get_all_start_methods():
        # Forked workers share the imports, which cost as much as several charts.
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, context, _start_worker, (result,)) as pool:
            written = list(pool.map(_job, jobs))
    else:
        written = [_draw(result, *job) for job in jobs]
    paths = [path for group in written for path in group]
    if not paths:
        raise ReportError(result.path, "has nothing to draw: every row was skipped or failed")
    return paths


def chart_names(concepts: list[str]) -> dict[str, str]:
    """A file name stem for every concept: safe anywhere, no two alike."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for concept in concepts:
        stem = "concept-" + (re.sub(r"[^A-Za-z0-9._-]+", "_", concept)[:80] or "_")
        name, count = stem, 2
        while name.lower() in taken:
            name, count = f"{stem}-{count}", count + 1
        taken.add(name.lower())
        names[concept] = name
    return names


_result: ResultFile | None = None


def _start_worker(result: ResultFile) -> None:
    global _result
    _result = result


def _job(job: tuple[Builder, str | None, Path]) -> list[Path]:
    assert _result is not None
    return _draw(_result, *job)


def _roofline(_: str, rows: pd.DataFrame, context: Context) -> Figure | None:
    return roofline.build(rows, context)


def _draw(result: ResultFile, build: Builder, concept: str | None, stem: Path) -> list[Path]:
    """One chart; `concept` None is all of them. Returns the paths written, none if no data."""
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the table has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        rows = result.rows
        chosen = rows if concept is None else rows[rows["concept"] == concept]
        figure = build(concept or "", chosen, result.context)
        if figure is None:
            return []
        return save(figure, stem)


def save(figure, stem: Path) -> list[Path]:
    """Writes `figure` as stem.png and stem.svg; returns both paths."""
    paths = []
    for suffix, content in style.to_files(figure).items():
        path = stem.with_name(f"{stem.name}.{suffix}")
        write_atomically(path, content)
        paths.append(path)
    return paths
