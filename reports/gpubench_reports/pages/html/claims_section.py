"""What is often said of GPUs, and how this file answers."""

from collections.abc import Sequence

from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.rules.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    Finding,
    tested_and_not,
)

_LOOKS = {HOLDS: "good", PARTLY: "doubt", FAILS: "bad"}


def claims(findings: Sequence[Finding]) -> list[Markup]:
    """What is often said of GPUs and how this file answers; nothing where it answers none of it."""
    tested, others = tested_and_not(findings)
    if not tested:
        return []
    lines = []
    for finding in tested:
        look = _LOOKS.get(finding.word)
        claim = f"{finding.claim.number}. {finding.claim.says}"
        figures = [
            tag(
                "div",
                tag("strong", one.text),
                f" {one.where}",
                f" ({one.beside})" if one.beside else None,
            )
            for one in finding.tried
        ]
        ranges = dict.fromkeys(one.case.claimed for one in finding.tried if one.case.judges)
        verdict = tag("span", finding.verdict, class_=f"state {look}" if look else "small")
        cells = (
            tag("td", tag("div", claim), tag("small", finding.notes)),
            tag("td", figures, class_="text"),
            tag("td", [tag("div", words) for words in ranges], class_="text"),
            tag("td", verdict, class_="text"),
        )
        lines.append(tag("tr", *cells))
    titles = ("claim", "our result", "claimed", "verdict")
    head = tag("tr", [tag("th", title, scope="col", class_="text") for title in titles])
    table = tag("table", tag("thead", head), tag("tbody", lines))
    words = (
        "Common claims about GPUs, the result from the rows of this file, and the range in which "
    )
    words += "each claim holds."
    return [
        tag(
            "section",
            tag("h2", "Claims"),
            tag("p", words),
            tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Claims"),
            *_untested_claims(others),
            id="claims",
        )
    ]


def _untested_claims(findings: list[Finding]) -> list[Markup]:
    """A line for each of them."""
    if not findings:
        return []
    lines = [
        tag("li", f"{one.claim.number}. {one.claim.says}: {one.why_untested}") for one in findings
    ]
    return [tag("p", "Not tested:"), tag("ul", lines, class_="plain small")]
