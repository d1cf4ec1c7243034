"""The page around the sections: header, menu, footer, style and script."""

from collections.abc import Sequence
from importlib.resources import files

from gpubench_reports import __version__
from gpubench_reports.charts import style
from gpubench_reports.pages import paragraphs
from gpubench_reports.pages.html.frame import (
    framed,
    modelled_banner,
    reservations,
    script_and_policy,
)
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.order import in_order
from gpubench_reports.results.context import Context
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.verdicts.rulebook import rules

_PLACES = {
    "summary": "Summary",
    "rooflines": "Rooflines",
    "comparison": "Comparison",
    "steps": "Training steps",
    "how": "How to read",
    "explained": "Explained",
    "claims": "Claims",
    "rows": "Rows",
}


def page_of(result: ResultFile, sections: Sequence[Markup], raw: Markup, sheet: Markup) -> str:
    """The whole page, as its file has it; `sheet` is what its charts need beside report.css."""
    script, policy = script_and_policy(_asset("report.js"))
    body = tag(
        "body",
        tag("a", "Skip to the summary", href="#summary", class_="skip"),
        _header(result.context),
        _menu(result, sections),
        tag("main", *sections),
        tag("footer", _footer()),
        _dialog(),
        _tip(),
        raw,
        script,
    )
    return framed(
        result.context.device_title,
        sheet + _asset("report.css"),
        body,
        allowed=f"{policy}img-src data:; ",
    )


def _header(context: Context) -> Markup:
    """The device, the run and, of a modelled one, that nothing was measured."""
    run = style.run_line(context).removeprefix(f"{context.device_title} · ")
    banner = None
    if context.modelled:
        banner = modelled_banner(tag("span", paragraphs.caution(context)))
    return tag(
        "header",
        tag("h1", context.device_title),
        tag("p", f"gpubench report · {run}", class_="run"),
        banner,
        *reservations(context),
        class_="page",
    )


def _menu(result: ResultFile, sections: Sequence[Markup]) -> Markup:
    """Links to the sections that there are."""
    entries = [
        tag("li", tag("a", title, href=f"#{place}"))
        for place, title in _PLACES.items()
        if any(f'id="{place}"' in section for section in sections)
    ]
    names = in_order(result)
    concepts = [tag("li", tag("a", name, href=f"#{stem}")) for name, stem in names.items()]
    summary = tag("summary", f"Concepts ({len(concepts)})")
    entries.insert(-1, tag("li", tag("details", summary, tag("ul", concepts), id="concepts")))
    theme = tag("button", "Theme", type="button", id="theme", hidden=True)
    return tag("nav", tag("div", tag("ul", entries), theme), aria_label="Sections")


def _footer() -> str:
    limits = rules()["limits"]
    return (
        "A grade compares the row with the first of these that exists: values recorded or "
        f"published for it on this device (within {limits['recorded'] * 100:.0f} %), its law "
        "(within the row's tolerance), the model's prediction (within twice the model's error "
        "for its concept), its "
        f"roof (from {limits['roof_low'] * 100:.0f} to {limits['roof_high'] * 100:.0f} %). "
        f"Prefixes are powers of 1000. gpubench-report {__version__}."
    )


def _dialog() -> Markup:
    return tag(
        "dialog",
        tag("button", "Close", type="button", id="details-close"),
        tag("h2", id="details-name", class_="row-name"),
        tag("p", id="details-verdict"),
        tag("pre", id="details-raw", tabindex="0", aria_label="Raw values"),
        id="details",
        aria_labelledby="details-name",
    )


def _tip() -> Markup:
    """Where the script tells what a chart's point stands for."""
    return tag(
        "div",
        tag("p", id="tip-name", class_="row-name"),
        tag("dl", id="tip-figures"),
        tag("p", "Click or press Enter to see its row in the table.", class_="small"),
        id="tip",
        role="status",
        hidden=True,
    )


def _asset(name: str) -> str:
    return files("gpubench_reports.pages.html").joinpath("assets", name).read_text(encoding="utf-8")
