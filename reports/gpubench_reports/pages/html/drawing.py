"""Every chart of the page, as elements of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from matplotlib.figure import Figure

from gpubench_reports.charts import compare_chart, devices_chart, speedup_chart
from gpubench_reports.charts.render import chart_names, charts_of, draw_all
from gpubench_reports.charts.roofline import on_page
from gpubench_reports.comparisons.compare import Comparison, changed
from gpubench_reports.comparisons.speedups import Speedups
from gpubench_reports.pages.html.compact import compact
from gpubench_reports.pages.html.facts import Facts
from gpubench_reports.pages.html.inline_svg import Links, png_element, to_inline_svg
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.order import in_order
from gpubench_reports.pages.html.pieces import Chart
from gpubench_reports.results.context import Context
from gpubench_reports.results.device_roofs import DeviceRoofs, roofs_of_result
from gpubench_reports.results.reader import ResultFile

_LARGEST_SVG = 350_000  # bytes: a chart that is larger becomes a picture
MOST_RATIOS = 60  # rows of a comparison that are drawn and listed


@dataclass(frozen=True)
class Drawn:
    """The charts of a page, and the style sheet that they need."""

    charts: list[Chart]
    sheet: Markup


def draw(facts: Facts, links: Links, room: int) -> Drawn:
    """All charts of the page, no more bytes together than it has `room` for; their points are the
    `links`."""
    result, others = facts.result, facts.others
    builders = charts_of(result, facts.explained) | {"roofline": _roofline}
    if any(other.context.device != result.context.device for other in others):
        builders["devices"] = partial(_devices, [roofs_of_result(r) for r in (result, *others)])
    if facts.means is not None:
        builders["means"] = partial(_means, facts.means)
    for number, comparison in enumerate(facts.comparisons, start=1):
        if not changed(comparison.rows).empty:
            builders[f"compare-{number}"] = partial(_forest, comparison)
    drawn = draw_all(result, builders, partial(_embed, result.context, links))
    names = chart_names(list(dict.fromkeys(result.rows["concept"])))
    contents, sheet = compact(list(drawn.values()))
    found = [
        Chart(stem, *_belongs(stem, names), content)
        for stem, content in zip(drawn, contents, strict=True)
    ]
    return Drawn(_that_fit(found, list(in_order(result)), room - len(sheet)), sheet)


def _that_fit(charts: Sequence[Chart], concepts: Sequence[str], room: int) -> list[Chart]:
    """The charts, of which those that come last on the page give way to a line where the `room`
    [bytes] is used up."""
    place = {concept: number for number, concept in enumerate(concepts)}
    kept: dict[str, Chart] = {}
    for chart in sorted(charts, key=lambda one: place.get(one.concept, -1)):
        size = len(chart.content.encode("utf-8"))
        fits = size <= room
        room -= size if fits else 0
        words = (
            f"{chart.stem} is left out to keep this page small: gpubench-report render draws it."
        )
        kept[chart.stem] = (
            chart if fits else replace(chart, content=tag("p", words, class_="small"))
        )
    return [kept[chart.stem] for chart in charts]


def _embed(context: Context, links: Links, stem: str, figure: Figure) -> Markup:
    """The figure as an element of the page."""
    words = f"Chart {stem}, {context.verb}. Its figures are in the table of rows."
    title = stem.replace("-", ": ", 1)
    content = to_inline_svg(figure, stem, title, words, links)
    if len(content) > _LARGEST_SVG:
        content = png_element(figure, stem, title, words, links)
    return content


def _roofline(result: ResultFile) -> Figure | None:
    return on_page.build(result.rows, result.context)


def _devices(devices: Sequence[DeviceRoofs], _: ResultFile) -> Figure | None:
    stated = {roof.name for device in devices for roof in device.roofs if roof.kind == "compute"}
    dtypes = [dtype for dtype in ("fp32", "tensor_bf16") if dtype in stated]
    return devices_chart.build(devices, dtypes) if dtypes else None


def _means(means: Speedups, result: ResultFile) -> Figure | None:
    return speedup_chart.build(means, result.context.modelled)


def _forest(comparison: Comparison, _: ResultFile) -> Figure | None:
    return compare_chart.build(_largest(comparison))[0]


def _largest(comparison: Comparison) -> Comparison:
    """The comparison with its rows that changed most, in the file's order."""
    kept = changed(comparison.rows).index[:MOST_RATIOS]
    return replace(comparison, rows=comparison.rows.loc[sorted(kept)])


def _belongs(stem: str, names: Mapping[str, str]) -> tuple[str, str]:
    """(kind, concept) of a chart by its name: ("wire", "all_reduce") of concept-all_reduce-wire."""
    first, _, rest = stem.partition("-")
    owners = {name.removeprefix("concept-"): concept for concept, name in names.items()}
    for name in sorted(owners, key=len, reverse=True):
        if rest == name:
            return first, owners[name]
        if rest.startswith(f"{name}-"):
            return rest.removeprefix(f"{name}-"), owners[name]
    return first, ""
