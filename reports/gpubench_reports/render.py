"""Draws every chart that a result file supports and writes it as PNG and SVG."""

import multiprocessing
import os
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from gpubench_reports import (
    concept_chart,
    roofline,
    roofs_chart,
    style,
    timeline_chart,
    warp_chart,
    wire_chart,
)
from gpubench_reports.errors import ReportError
from gpubench_reports.explanations import Explanation, explanations_beside
from gpubench_reports.files import ensure_directory, write_atomically
from gpubench_reports.reader import Context, ResultFile
from gpubench_reports.traces import Trace, path_beside, read_trace

_WORKERS = 2
# Draws of a result file what it stands for; None when there is nothing to draw.
Builder = Callable[[ResultFile], Figure | None]
# A concept's own chart: its name, its rows, the file's context.
ConceptBuilder = Callable[[str, pd.DataFrame, Context], Figure | None]


def default_directory(result: Path) -> Path:
    """Where the charts of a result file go unless told otherwise: NAME-charts beside NAME.json."""
    return result.parent / f"{result.stem}-charts"


def render(result: ResultFile, directory: Path) -> list[Path]:
    """Writes all charts of `result` into `directory`; returns the paths, rooflines first.

    Raises ReportError when nothing can be drawn or written.
    """
    ensure_directory(directory)
    jobs = [(build, directory / stem) for stem, build in _charts(result).items()]
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


def _charts(result: ResultFile) -> dict[str, Builder]:
    """What may be drawn of the file and of what lies beside it, by the stem of the chart's name."""
    concepts = list(dict.fromkeys(result.ok["concept"]))
    charts: dict[str, Builder] = {"roofline": _roofline, "roofs": _roofs}
    for concept, name in chart_names(concepts).items():
        charts[name] = partial(_concept, concept_chart.build, concept)
        if result.ok.loc[result.ok["concept"] == concept, "bus_bytes_per_second"].notna().any():
            charts[f"{name}-wire"] = partial(_concept, wire_chart.build, concept)
    for number, explanation in enumerate(explanations_beside(result), start=1):
        charts[f"warp-{number}"] = partial(_warp, explanation)
    traces = _traces_beside(result)
    for concept, name in chart_names(list(traces)).items():
        stem = name.replace("concept-", "timeline-", 1)
        charts[stem] = partial(_timeline, concept, traces[concept])
    return charts


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


def _job(job: tuple[Builder, Path]) -> list[Path]:
    assert _result is not None
    return _draw(_result, *job)


def _draw(result: ResultFile, build: Builder, stem: Path) -> list[Path]:
    """One chart. Returns the paths written, none if there is nothing to draw."""
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the table has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = build(result)
        return [] if figure is None else save(figure, stem)


def _roofline(result: ResultFile) -> Figure | None:
    return roofline.build(result.rows, result.context)


def _roofs(result: ResultFile) -> Figure | None:
    return roofs_chart.build(result.context)


def _concept(build: ConceptBuilder, concept: str, result: ResultFile) -> Figure | None:
    return build(concept, result.rows[result.rows["concept"] == concept], result.context)


def _warp(explanation: Explanation, result: ResultFile) -> Figure | None:
    return warp_chart.build(explanation, result.context)


def _timeline(concept: str, shown: list[Trace], result: ResultFile) -> Figure | None:
    return timeline_chart.build(concept, shown, result.context)


def _traces_beside(result: ResultFile) -> dict[str, list[Trace]]:
    """By concept, what the trace beside the result file shows, if this run wrote one."""
    path = path_beside(result.path)
    if not path.is_file():
        return {}
    trace = read_trace(path)
    if trace.context.date != result.context.date:
        return {}  # an earlier run's, under the same name
    by_concept: dict[str, list[Trace]] = {}
    for shown in trace.shown:
        by_concept.setdefault(shown.name.partition("/")[0], []).append(shown)
    return by_concept


def save(figure, stem: Path) -> list[Path]:
    """Writes `figure` as stem.png and stem.svg; returns both paths."""
    paths = []
    for suffix, content in style.to_files(figure).items():
        path = stem.with_name(f"{stem.name}.{suffix}")
        write_atomically(path, content)
        paths.append(path)
    return paths
