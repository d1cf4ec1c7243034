"""What several sections are put together from."""

from dataclasses import dataclass

from gpubench_reports.pages.html.markup import Markup, tag, text
from gpubench_reports.rules.verdicts.verdict import EXPECTED, HIGH, LOW, MEANT, UNGRADED

GRADE_LOOKS = {
    EXPECTED: "good",
    LOW: "bad",
    HIGH: "doubt",
    MEANT: "small",
    UNGRADED: "small",
}


@dataclass(frozen=True)
class Chart:
    """A drawn chart: `kind` and `concept` (empty: of the whole file) say where it stands."""

    stem: str
    kind: str
    concept: str
    content: Markup


def figure_of(chart: Chart, words: str | Markup, above: Markup | None = None) -> Markup:
    scroll = tag(
        "div",
        chart.content,
        class_="scroll",
        tabindex="0",
        role="group",
        aria_label=f"Chart {chart.stem}",
    )
    hint = tag("p", "A wide chart scrolls sideways →", class_="small swipe")
    return tag("figure", tag("figcaption", words), above, hint, scroll, id=f"chart-{chart.stem}")


def card(title: str, *content: object, look: str = "") -> Markup:
    return tag("section", tag("h3", title), *content, class_=f"card {look}".rstrip())


def row_name(name: str) -> Markup:
    """A row's name that may be broken behind a slash."""
    parts = Markup("/<wbr>".join(text(part) for part in name.split("/")))
    return tag("span", parts, class_="row-name")


def show_rows(words: str, key: str, value: str) -> Markup:
    """A button that shows the rows of that kind."""
    return tag("button", words, class_="link", type="button", data_show=key, data_value=value)
