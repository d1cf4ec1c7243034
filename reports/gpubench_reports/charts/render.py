"""Draws every chart that a result file supports and writes it as PNG and SVG."""

import gc
import multiprocessing
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from gpubench_reports.charts import (
    error_chart,
    levels_chart,
    link_chart,
    matrix_chart,
    roofs_chart,
    series_chart,
    style,
    timeline_chart,
    warp_chart,
    wire_chart,
)
from gpubench_reports.charts.concept import chart as concept_chart
from gpubench_reports.charts.roofline import chart as roofline
from gpubench_reports.common.errors import ReportError
from gpubench_reports.common.files import ensure_directory, write_atomically
from gpubench_reports.common.processes import process_pool, usable_cpus
from gpubench_reports.results.context import Context
from gpubench_reports.results.explanations import Explanation, explanations_beside
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.results.traces import Trace, path_beside, read_trace
from gpubench_reports.results.watched import WatchedRow, series_beside

_WORKERS = 2
# More rows than this in one chart cannot be told apart, and take minutes to draw.
MOST_ROWS = 2000
# The names of charts: see charts_of.
_CHART = re.compile(r"(roofline|levels|roofs|warp-[0-9]+|(concept|timeline)-.+)\.(png|svg)")
# Draws of a result file what it stands for; None when there is nothing to draw.
Builder = Callable[[ResultFile], Figure | None]
# What becomes of a chart that was drawn: from its stem and the figure to anything that pickles.
User = Callable[[str, Figure], Any]
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
    written = draw_all(result, charts_of(result), partial(_save_in, directory))
    paths = [path for group in written.values() for path in group]
    if not paths:
        raise ReportError(result.path, nothing_to_draw(result))
    return paths


def earlier_charts(directory: Path, paths: Sequence[Path]) -> list[Path]:
    """The charts in `directory` that are none of `paths`: those of a file that was there before."""
    return sorted(
        path
        for path in directory.iterdir()
        if _CHART.fullmatch(path.name) and path not in paths and path.is_file()
    )


def nothing_to_draw(result: ResultFile) -> str:
    """Why a file gave no chart, in words."""
    if result.ok.empty:
        return "has nothing to draw: every row was skipped or failed"
    return f"has nothing to draw: every concept has more than {MOST_ROWS} rows; filter them"


def draw_all(result: ResultFile, charts: dict[str, Builder], use: User) -> dict[str, Any]:
    """Draws the `charts` by two processes and gives each to `use`; its answers by stem, in order.
    Charts that found nothing to draw are left out."""
    workers = min(_WORKERS, usable_cpus(), len(charts))
    if workers > 1 and "fork" in multiprocessing.get_all_start_methods():
        # Forked workers share the imports, which cost as much as several charts.
        context = multiprocessing.get_context("fork")
        with process_pool(
            workers,
            mp_context=context,
            initializer=_start_worker,
            initargs=(result, charts, use),
        ) as pool:
            answers = list(pool.map(_job, charts))
    else:
        answers = [_draw(result, build, stem, use) for stem, build in charts.items()]
    return {
        stem: answer for stem, answer in zip(charts, answers, strict=True) if answer is not None
    }


def charts_of(
    result: ResultFile, explained: Sequence[Explanation] | None = None
) -> dict[str, Builder]:
    """What may be drawn of the file and of what lies beside it (of `explained` instead, where that
    is given), by the stem of the chart's name."""
    if explained is None:
        explained = explanations_beside(result)
    sizes = result.ok["concept"].value_counts(sort=False)
    concepts = [concept for concept, rows in sizes.items() if rows <= MOST_ROWS]
    charts: dict[str, Builder] = {"roofline": _roofline, "levels": _levels, "roofs": _roofs}
    for concept, name in chart_names(concepts).items():
        rows = result.ok[result.ok["concept"] == concept]
        if not matrix_chart.is_of_pairs(rows).all():  # a matrix says it better
            charts[name] = partial(_concept, concept_chart.build, concept)
        if matrix_chart.is_of_pairs(rows).any():
            charts[f"{name}-matrix"] = partial(_concept, matrix_chart.build, concept)
        if rows["fit_bytes_per_second"].notna().any():
            charts[f"{name}-link"] = partial(_concept, link_chart.build, concept)
        if rows["bus_bytes_per_second"].notna().any():
            charts[f"{name}-wire"] = partial(_concept, wire_chart.build, concept)
        if (rows["relative_error"].notna() & rows["flops_per_second"].notna()).any():
            charts[f"{name}-error"] = partial(_concept, error_chart.build, concept)
    for number, explanation in enumerate(explained, start=1):
        charts[f"warp-{number}"] = partial(_warp, explanation)
    watched: dict[str, list[WatchedRow]] = {}
    for series in series_beside(result):
        watched.setdefault(series.name.partition("/")[0], []).append(series)
    for concept, name in chart_names(list(watched)).items():
        charts[f"{name}-series"] = partial(_watched, concept, watched[concept])
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


_work: tuple[ResultFile, dict[str, Builder], User] | None = None


def _start_worker(*work: Any) -> None:
    global _work
    _work = work
    # Figures are many small objects: the collector would walk them over and over.
    gc.freeze()
    gc.set_threshold(100_000)


def _job(stem: str) -> Any:
    assert _work is not None
    result, charts, use = _work
    return _draw(result, charts[stem], stem, use)


def _draw(result: ResultFile, build: Builder, stem: str, use: User) -> Any:
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the table has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = build(result)
        return None if figure is None else use(stem, figure)


def _save_in(directory: Path, stem: str, figure: Figure) -> list[Path]:
    return save(figure, directory / stem)


def _roofline(result: ResultFile) -> Figure | None:
    return roofline.build(result.rows, result.context)


def _levels(result: ResultFile) -> Figure | None:
    return levels_chart.build(result.rows, result.context)


def _roofs(result: ResultFile) -> Figure | None:
    return roofs_chart.build(result.context)


def _concept(build: ConceptBuilder, concept: str, result: ResultFile) -> Figure | None:
    return build(concept, result.rows[result.rows["concept"] == concept], result.context)


def _warp(explanation: Explanation, result: ResultFile) -> Figure | None:
    return warp_chart.build(explanation)


def _timeline(concept: str, shown: list[Trace], result: ResultFile) -> Figure | None:
    return timeline_chart.build(concept, shown, result.context)


def _watched(concept: str, watched: list[WatchedRow], result: ResultFile) -> Figure | None:
    return series_chart.build(concept, watched, result.context)


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


def save(figure: Figure, stem: Path) -> list[Path]:
    """Writes `figure` as stem.png and stem.svg; returns both paths."""
    paths = []
    for suffix, content in style.to_files(figure).items():
        path = stem.with_name(f"{stem.name}.{suffix}")
        write_atomically(path, content)
        paths.append(path)
    return paths
