"""The card of all roofs."""

from gpubench_reports.charts import style
from gpubench_reports.common.units import si
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import card
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.results.roof_pairs import pairs


def roofs_card(result: ResultFile) -> Markup:
    """Every roof once: as this run has it, as the device file has it, and how the two compare."""
    context = result.context
    lines = []
    by_row = False
    for pair in pairs(context.roofs):
        name, known = pair.name, pair.filed
        own_row = pair.found or pair.kind == "bandwidth"
        row, best = ("", 0.0) if own_row else _best_row(result, name)
        by_row = by_row or best > 0
        reached = pair.found.value if pair.found else best
        shown: object = si(reached, pair.unit) if reached else "no row"
        if best:
            shown = tag("span", f"{shown} *", title=f"by {row}")
        share = f"{reached / known.value * 100:.0f} %" if reached and known else ""
        said = [
            tag(
                "div",
                si(roof.value, pair.unit),
                " ",
                tag("small", style.ROOF_WORDS[roof.provenance]),
            )
            for roof in pair.all_filed
        ]
        lines.append(
            tag(
                "tr",
                tag("th", pair.title, scope="row", class_="text"),
                tag("td", shown),
                tag("td", said),
                tag("td", share),
            )
        )
    if not lines:
        return card("Its roofs", tag("p", "The file states no roof."))
    titles = ("roof", context.verb, "device file", "of device file")
    head = tag(
        "tr",
        [
            tag("th", title, scope="col", class_="text" if title == "roof" else None)
            for title in titles
        ],
    )
    table = tag("table", tag("thead", head), tag("tbody", lines))
    words = (
        f"The most that each part of the device delivers: as {context.verb} by the rows for this "
    )
    words += "roof, and as stated in the device file, with the source."
    if by_row:
        words += " * No row measures this roof. The value is the best row that it limits."
    return card(
        "Its roofs",
        tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Roofs"),
        tag("p", words, class_="small"),
    )


def _best_row(result: ResultFile, roof: str) -> tuple[str, float]:
    """The fastest of the rows that a compute roof bounds, and its rate; ("", 0) if none is."""
    rows = result.ok[(result.ok["roof"] == roof) & (result.ok["flops_per_second"] > 0)]
    if rows.empty:
        return "", 0.0
    best = rows.loc[rows["flops_per_second"].idxmax()]
    return best["name"], float(best["flops_per_second"])
