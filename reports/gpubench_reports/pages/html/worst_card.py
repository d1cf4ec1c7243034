"""The card of the rows that are farthest from what is expected."""

from gpubench_reports.pages.html.facts import Facts
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import GRADE_LOOKS, card, row_name
from gpubench_reports.results.headlines import headline_text
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.verdicts.verdict import EXPECTED, FINE, Verdict, worst

_WORST = 3  # rows that the summary tells, each of another concept


def worst_card(facts: Facts) -> Markup:
    """What failed, then the worst row per concept."""
    result, verdicts = facts.result, facts.verdicts
    modelled = result.context.modelled
    title = "Where the model is farthest from what is expected" if modelled else "Worst rows"
    entries = [
        tag(
            "li",
            row_name(row["name"]),
            tag("p", tag("span", "failed", class_="state bad"), f": {row['reason']}"),
        )
        for row in result.rows[result.rows["status"] == "failed"][:_WORST].to_dict("records")
    ]
    found = worst(verdicts.values(), _WORST - len(entries))
    if any(verdict.grade != EXPECTED for verdict in found):
        found = [verdict for verdict in found if verdict.grade != EXPECTED]
    explained = facts.health.fault.rows if facts.health.fault else frozenset()
    entries += [_told(result, verdict, verdict.name in explained) for verdict in found]
    if not entries:
        words = "No row was graded: the file has neither laws, nor predictions, nor roofs."
        return card(title, tag("p", words))
    off = sum(verdict.grade not in FINE for verdict in verdicts.values())
    lead = f"{off} rows are not as expected" if off != 1 else "One row is not as expected"
    lead += "; worst row per concept:"
    if modelled:
        lead = (
            "Nothing was measured, so none of this is a fault of the device: "
            "in these rows, the model is farthest from the law, the roof, or a published value. "
        ) + lead
    if off or len(found) < len(entries):
        return card(title, tag("p", lead), tag("ol", entries, class_="worst"))
    nearest = "Nearest to low: worst row per concept, with the share of its tolerance that it uses"
    folded = tag("details", tag("summary", nearest), tag("ol", entries, class_="worst"))
    return card(title, tag("p", "All graded rows are as expected."), folded)


def _told(result: ResultFile, verdict: Verdict, is_faulty: bool) -> Markup:
    """One row of the worst: how far it is from what it should reach, why, and what to do."""
    row = result.ok[result.ok["name"] == verdict.name].iloc[0]
    parts = [
        tag(
            "p",
            row_name(verdict.name),
            f" at {headline_text(row)}: ",
            tag("span", verdict.grade, class_=f"state {GRADE_LOOKS[verdict.grade]}"),
            f", {verdict.sentence}; {verdict.expectation} ({_tolerance_used(verdict)}).",
        ),
    ]
    if verdict.grade == EXPECTED:
        if verdict.means:
            parts.append(tag("p", tag("strong", "What binds it: "), f"{verdict.means}."))
        return tag("li", *parts)
    explained = " (Probably what is said above.)" if is_faulty and not verdict.causes else ""
    parts.append(tag("p", tag("strong", "Why: "), f"{verdict.why}.{explained}"))
    if verdict.next_steps:
        parts.append(tag("p", tag("strong", "Next: "), f"{'; '.join(verdict.next_steps)}."))
    if verdict.no_help:
        parts.append(tag("p", tag("strong", "Would not help: "), f"{verdict.no_help}."))
    return tag("li", *parts)


def _tolerance_used(verdict: Verdict) -> str:
    """How far from 1 a row is, by the distance allowed: what the worst are sorted by."""
    used = verdict.severity
    return f"{used * 100:.0f} % of its tolerance" if used < 1 else f"{used:.1f} times its tolerance"
