"""Draws every chart that a result file supports and writes it as PNG and SVG."""

import multiprocessing
import os
import re
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from gpubench_reports import concept_chart, roofline, style, timeline_chart, warp_chart
from gpubench_reports.errors import ReportError
from gpubench_reports.explanations import Explanation, explanations_beside
from gpubench_reports.files import ensure_directory, write_atomically
from gpubench_reports.reader import ResultFile
from gpubench_reports.traces import path_beside, read_trace

_WORKERS = 2
# What to draw (the roofline, a concept, an explained kernel) and the stem of its files.
Job = tuple[str | Explanation | None, Path]


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
    jobs: list[Job] = [(None, directory / "roofline")]
    jobs += [(concept, directory / names[concept]) for concept in concepts]
    for number, explanation in enumerate(explanations_beside(result), start=1):
        jobs.append((explanation, directory / f"warp-{number}"))
    workers = min(_WORKERS, os.cpu_count() or 1, len(jobs))
    if workers > 1 and "fork" in multiprocessing.get_all_start_methods():
        # Forked workers share the imports, which cost as much as several charts.
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, context, _start_worker, (result,)) as pool:
            written = list(pool.map(_job, jobs))
    else:
        written = [_draw(result, *job) for job in jobs]
    paths = [path for group in written for path in group]
    paths += _draw_timelines(result, directory)
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


def _job(job: Job) -> list[Path]:
    assert _result is not None
    return _draw(_result, *job)


def _draw(result: ResultFile, what: str | Explanation | None, stem: Path) -> list[Path]:
    """One chart; `what` None is the roofline. Returns the paths written, none if no data."""
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the table has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        rows = result.rows
        if what is None:
            figure = roofline.build(rows, result.context)
        elif isinstance(what, Explanation):
            figure = warp_chart.build(what, result.context)
        else:
            figure = concept_chart.build(what, rows[rows["concept"] == what], result.context)
        if figure is None:
            return []
        return save(figure, stem)


def _draw_timelines(result: ResultFile, directory: Path) -> list[Path]:
    """One chart a concept from the trace beside the result file, if this run wrote one."""
    path = path_beside(result.path)
    if not path.is_file():
        return []
    trace = read_trace(path)
    if trace.context.date != result.context.date:
        return []  # an earlier run's, under the same name
    concepts = list(dict.fromkeys(t.name.partition("/")[0] for t in trace.shown))
    paths: list[Path] = []
    for concept, name in chart_names(concepts).items():
        shown = [t for t in trace.shown if t.name.partition("/")[0] == concept]
        figure = timeline_chart.build(concept, shown, trace.context)
        if figure is not None:
            stem = directory / name.replace("concept-", "timeline-", 1)
            paths += save(figure, stem)
    return paths


def save(figure, stem: Path) -> list[Path]:
    """Writes `figure` as stem.png and stem.svg; returns both paths."""
    paths = []
    for suffix, content in style.to_files(figure).items():
        path = stem.with_name(f"{stem.name}.{suffix}")
        write_atomically(path, content)
        paths.append(path)
    return paths
