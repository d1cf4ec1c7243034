"""The first screen: is it healthy, is it good, what binds it, what changed?"""

import math
import shlex
from collections import Counter

from gpubench_reports.common.dates import order_of
from gpubench_reports.common.plain_text import clean
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.compare import counted, look_first, other_versions, signed
from gpubench_reports.pages.answers import Moved, Wall, borrowed_words, concepts_moved, walls_of
from gpubench_reports.pages.goodness import Reached, goodness, roofs_reached
from gpubench_reports.pages.html.facts import Change, Facts
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import card, row_name, show_rows
from gpubench_reports.rules.diagnosis.diagnose import Diagnosis
from gpubench_reports.rules.verdicts.rulebook import wall_means
from gpubench_reports.rules.verdicts.verdict import EXPECTED, GRADES, LOW, UNGRADED, worst

_MOST_ROOFS, _MOST_LABELS, _MOST_MOVED = 6, 4, 3  # lines of a card
_OTHER = {True: "good", False: "bad", None: "doubt"}


def answer_cards(facts: Facts) -> Markup:
    """A card per question; of what changed one per other file."""
    # How far a model is off is told with the comparison.
    told = [change for change in facts.changes if not change.comparison.mixed]
    changes = [_changed_card(change) for change in told] or [_nothing_to_compare(facts)]
    state = tag("div", _health_card(facts), _good_card(facts))
    return tag("div", state, tag("div", _binds_card(facts), *changes), class_="answers")


def _health_card(facts: Facts) -> Markup:
    found = facts.health
    mark = {True: "✓", False: "✗", None: "?"}[found.well]
    look = _OTHER[found.well]
    seen = tag("ul", [tag("li", sentence) for sentence in found.sentences], class_="plain small")
    return card(
        "Is this run healthy?",
        tag("p", f"{mark} {found.word}", class_=f"state {look}"),
        *_told(found.fault),
        seen if found.sentences else None,
        look=f"answer {look}",
    )


def _told(fault: Diagnosis | None, first: str = "") -> list[Markup]:
    """A fault, and where to look: `first` at what is known to be otherwise."""
    if fault is None:
        return []
    return [
        tag("p", tag("strong", "Probably: "), f"{fault.sentence}."),
        tag("p", tag("strong", "Look at: "), f"{first}{fault.look}.", class_="small"),
    ]


def _good_card(facts: Facts) -> Markup:
    verdicts, reached = facts.verdicts, roofs_reached(facts.result)
    found = goodness(facts.result, verdicts, facts.health, reached)
    parts = [_show_what_is_off(facts, found.more)]
    lost = next((one for one in worst(verdicts.values()) if one.grade == LOW), None)
    if lost:
        share = f" at {lost.share * 100:.3g} % of {lost.yardstick}"
        parts.append(
            tag("p", tag("strong", "Worst for its tolerance: "), row_name(lost.name), share)
        )
    roofs = [_reached(one) for one in reached[:_MOST_ROOFS]]
    parts.append(tag("table", tag("tbody", roofs), class_="bars") if roofs else None)
    mark = {"good": "✓ ", "bad": "✗ "}.get(found.look, "")
    state = tag("p", f"{mark}{found.words}", class_=f"state {found.look}")
    return card("Is it good?", state, *parts, look=f"answer {found.look}")


def _show_what_is_off(facts: Facts, words: str) -> Markup | None:
    """What the headline has not said, and links to the rows that are not as expected."""
    counts = Counter(verdict.grade for verdict in facts.verdicts.values())
    counts["failed"] = int((facts.result.rows["status"] == "failed").sum())
    shown = [g for g in ("failed", *GRADES) if counts[g] and g not in (EXPECTED, UNGRADED)]
    links = [show_rows(f"{counts[grade]} {grade}", "grade", grade) for grade in shown]
    parted = [part for link in links for part in (", ", link)][1:]
    if not links:
        return tag("p", words, class_="small") if words else None
    return tag("p", f"{words} " if words else None, "Show ", *parted, ".", class_="small")


def _reached(one: Reached) -> Markup:
    """A roof in a line: its name, how much of what is expected as a bar, and the value."""
    look = "bad" if one.is_low else "good"
    at = "" if math.isnan(one.clock_hz) else f" at {si(one.clock_hz, 'Hz')}"
    return tag(
        "tr",
        tag("th", one.title, scope="row", class_="text"),
        tag("td", _bar(one.share, look), class_="bar"),
        tag("td", f"{one.share * 100:.0f} % of {one.of}{at}", class_="text"),
        tag("td", one.value),
    )


def _bar(share: float, look: str) -> Markup:
    width = min(max(share, 0.0), 1.0) * 100
    return tag("div", tag("div", class_=look, style=f"width: {width:.0f}%"), class_="track")


def _binds_card(facts: Facts) -> Markup:
    walls = walls_of(facts.result, facts.verdicts)
    if not walls:
        return card("What binds it?", tag("p", "No row has a time."), look="answer")
    total = sum(wall.rows for wall in walls)
    first = walls[0]
    said = borrowed_words(facts.verdicts.values())
    often = "mostly" if 2 * first.rows > total else "most often"
    words = f"{often} {first.name or 'nothing known'}: {first.rows} of {total} rows"
    lines = [_wall(wall, total) for wall in walls]
    return card(
        "What binds it?",
        tag("p", words, class_="state"),
        tag("p", _of_model(said), class_="small") if said else None,
        tag("table", tag("tbody", lines), class_="bars"),
        look="answer",
    )


def _of_model(said: str) -> str:
    """What is `said` to be modelled, as a sentence with the reason."""
    lead = f"{said[0].upper()}{said[1:]}"
    return f"{lead}: the file has no predictions, so this is what binds the rows on the model."


def _wall(wall: Wall, total: int) -> Markup:
    by = [f"{label} {count}" for label, count in wall.by[:_MOST_LABELS]]
    more = len(wall.by) - len(by)
    if more > 0:
        by.append(f"{more} more")
    inside = ", ".join(by)
    if not math.isnan(wall.of_roof):
        inside += f"; half reach {wall.of_roof * 100:.0f} % of their roof"
    name = show_rows(wall.name or "unknown", "wall", wall.name or "unknown")
    return tag(
        "tr",
        tag("th", name, tag("small", inside), scope="row", class_="text"),
        tag("td", _bar(wall.rows / total, "plain"), class_="bar"),
        tag("td", wall.rows),
        title=wall_means(wall.name) or None,
    )


def _changed_card(change: Change) -> Markup:
    """What another file has otherwise, what would explain it, and where."""
    comparison = change.comparison
    moved = concepts_moved(comparison)
    slower = any(one.slower for one in moved)
    look = "bad" if slower else "good"
    parts = _told(next(iter(change.why), None), look_first(comparison.a, comparison.b))
    if moved:
        head = tag(
            "tr", [tag("th", t, scope="col") for t in ("concept", "changed", "typically", "most")]
        )
        lines = [_moved(one) for one in moved[:_MOST_MOVED]]
        parts.append(tag("table", tag("thead", head), tag("tbody", lines)))
        more = len(moved) - _MOST_MOVED
        if more > 0:
            rest = tag("a", f"and {more} more", href="#comparison")
            parts.append(tag("p", rest, class_="small"))
    said = [*comparison.warnings, "; ".join(other_versions(comparison.a, comparison.b))]
    unlike = [tag("p", words, class_="small") for words in said if words]
    words, name = counted(comparison)
    is_later = order_of(comparison.a.context.date) > order_of(comparison.b.context.date)
    return card(
        f"What is different from {clean(comparison.a.path.name)}, which is the later run?"
        if is_later
        else f"What changed since {clean(comparison.a.path.name)}?",
        tag("p", words, class_=f"state {look}"),
        tag("p", tag("strong", "Most: "), row_name(name)) if name else None,
        *unlike,
        *parts,
        look=f"answer {look}",
    )


def _moved(one: Moved) -> Markup:
    counts = [f"{one.slower} slower"] if one.slower else []
    counts += [f"{one.faster} faster"] if one.faster else []
    return tag(
        "tr",
        tag("th", one.concept, scope="row", class_="text"),
        tag("td", f"{', '.join(counts)} of {one.rows}"),
        tag("td", signed(one.middle)),
        tag("td", signed(one.worst), class_="bad" if one.worst < 1 else "good"),
    )


def _nothing_to_compare(facts: Facts) -> Markup:
    name = clean(facts.result.path.name)
    command = tag("code", f"gpubench-report html {shlex.quote(name)} EARLIER.json")
    return card(
        "What changed?",
        tag("p", "no earlier run to compare with", class_="state"),
        tag("p", "To compare with an earlier run: ", command, class_="small"),
        look="answer",
    )
