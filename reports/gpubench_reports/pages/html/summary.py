"""The first section: the device, its health, how its rows are graded, its worst rows, its roofs."""

from collections.abc import Mapping

import pandas as pd

from gpubench_reports.comparisons.compare import changed, in_a_sentence
from gpubench_reports.pages.html.facts import Change, Facts
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import GRADE_LOOKS, card, show_rows
from gpubench_reports.pages.html.roofs_card import roofs_card
from gpubench_reports.pages.html.worst_card import worst_card
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.diagnosis.diagnose import Diagnosis
from gpubench_reports.rules.verdicts.rulebook import wall_means
from gpubench_reports.rules.verdicts.verdict import UNGRADED, Verdict


def summary(facts: Facts) -> Markup:
    return tag(
        "section",
        tag("h2", "Summary"),
        tag(
            "div",
            tag(
                "div",
                _health_card(facts),
                # How far a model is off is told with the comparison.
                *[_changed_card(one) for one in facts.changes if not one.comparison.mixed],
                _counts_card(facts),
                _device_card(facts.result),
            ),
            tag("div", worst_card(facts)),
            tag("div", roofs_card(facts.result)),
            class_="first",
        ),
        id="summary",
    )


def _device_card(result: ResultFile) -> Markup:
    context, rows = result.context, result.rows
    counts = rows["status"].value_counts()
    found = [f"{counts.get('ok', 0)} {context.verb}"]
    found += [f"{counts[s]} {s}" for s in ("skipped", "failed") if s in counts]
    commit = context.git_commit[:10] + (" (modified)" if context.git_dirty else "")
    entries = (
        ("Device", context.device_title),
        ("Known as", f"{context.device} ({context.device_kind})"),
        ("Rows", ", ".join(found)),
        ("Date", context.date[:16].replace("T", " ")),
        ("Suite, mode", ", ".join(filter(None, (context.suite, context.mode)))),
        ("Driver", context.driver_version),
        ("CUDA", context.cuda_version),
        ("Compiler", context.compiler),
        ("Commit", commit if context.git_commit else ""),
        ("Imported from", context.imported_from),
        ("File", result.path.name),
    )
    known = [(tag("dt", name), tag("dd", value)) for name, value in entries if value]
    return card("Device and run", tag("dl", known), look="run-card")


def _health_card(facts: Facts) -> Markup:
    found = facts.health
    word, look = {
        True: ("✓ healthy", "good"),
        False: ("✗ not healthy", "bad"),
        None: ("? not observed", "doubt"),
    }[found.well]
    return card(
        "Is it healthy?",
        tag("p", word, class_=f"state {look}"),
        *_told(found.fault),
        tag("ul", [tag("li", sentence) for sentence in found.sentences], class_="plain"),
    )


def _changed_card(change: Change) -> Markup:
    """What another file has otherwise, and what would explain it."""
    comparison = change.comparison
    moved = changed(comparison.rows)
    slower = bool((moved["ratio"] < 1).any())
    concepts = ", ".join(dict.fromkeys(moved["concept"]))
    return card(
        f"What changed since {comparison.a.path.name}?",
        tag("p", in_a_sentence(comparison), class_=f"state {'bad' if slower else 'good'}"),
        *_told(next(iter(change.why), None)),
        tag("p", f"Concepts that moved: {concepts}.", class_="small") if concepts else None,
    )


def _told(fault: Diagnosis | None) -> list[Markup]:
    if fault is None:
        return []
    return [
        tag("p", tag("strong", "Probably: "), f"{fault.sentence}."),
        tag("p", tag("strong", "Look at: "), f"{fault.look}."),
    ]


def _counts_card(facts: Facts) -> Markup:
    result, verdicts = facts.result, facts.verdicts
    failed = int((result.rows["status"] == "failed").sum())
    grades = pd.Series([v.grade for v in verdicts.values()], dtype=object).value_counts()
    walls = pd.Series([v.wall or "unknown" for v in verdicts.values()], dtype=object)
    counts = [
        tag("li", show_rows(f"{grades[grade]} {grade}", "grade", grade), class_=look)
        for grade, look in GRADE_LOOKS.items()
        if grade in grades
    ]
    if failed:
        counts.insert(0, tag("li", show_rows(f"{failed} failed", "grade", "failed"), class_="bad"))
    bound = [
        tag(
            "li",
            show_rows(f"{count} {'' if wall == 'unknown' else 'by '}{wall}", "wall", wall),
            title=wall_means(wall) or None,
        )
        for wall, count in walls.value_counts().items()
    ]
    return card(
        "All rows",
        tag("ul", counts, class_="plain"),
        _ungraded(verdicts),
        tag("p", "What binds them:", class_="small"),
        tag("ul", bound, class_="plain"),
        look="counts-card",
    )


def _ungraded(verdicts: Mapping[str, Verdict]) -> Markup | None:
    labels = [v.label or "nothing known" for v in verdicts.values() if v.grade == UNGRADED]
    if not labels:
        return None
    what = ", ".join(dict.fromkeys(labels))
    return tag(
        "p",
        "Not graded: no law at their size, and no roof to compare them with (bound by "
        f"{what}); a row's name in the table says which.",
        class_="small",
    )
