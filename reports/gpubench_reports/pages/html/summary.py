"""The first section: the answers, then the worst rows and the roofs, then the run."""

from collections.abc import Mapping
from typing import Any

from gpubench_reports.common.plain_text import clean
from gpubench_reports.pages.html.answer_cards import answer_cards
from gpubench_reports.pages.html.facts import Facts
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import card
from gpubench_reports.pages.html.roofs_card import roofs_card
from gpubench_reports.pages.html.worst_card import worst_card
from gpubench_reports.rules.verdicts.rulebook import number_of
from gpubench_reports.rules.verdicts.verdict import UNGRADED, Verdict


def summary(facts: Facts) -> Markup:
    return tag(
        "section",
        tag("h2", "Summary", class_="unseen"),
        answer_cards(facts),
        tag(
            "div",
            tag("div", worst_card(facts), _device_card(facts)),
            tag("div", roofs_card(facts.result)),
            class_="first",
        ),
        id="summary",
    )


def _device_card(facts: Facts) -> Markup:
    result = facts.result
    context, rows = result.context, result.rows
    counts = rows["status"].value_counts()
    found = [f"{counts.get('ok', 0)} {context.verb}"]
    found += [f"{counts[s]} {s}" for s in ("skipped", "failed") if s in counts]
    found += [f"{context.not_run} not run"] if context.not_run else []
    commit = context.git_commit[:10] + (" (modified)" if context.git_dirty else "")
    entries = (
        ("Device", context.device_title),
        ("Known as", f"{context.device} ({context.device_kind})"),
        ("Rows", ", ".join(found)),
        ("Date", context.date[:16].replace("T", " ")),
        ("Suite, mode", ", ".join(filter(None, (context.suite, context.mode)))),
        ("Driver", context.driver_version),
        ("CUDA", context.cuda_version),
        *_state_entries(context.device_state),
        ("Compiler", context.compiler),
        ("Commit", commit if context.git_commit else ""),
        ("Imported from", context.imported_from),
        ("File", clean(result.path.name)),
    )
    known = [(tag("dt", name), tag("dd", value)) for name, value in entries if value]
    return card("Device and run", tag("dl", known), _ungraded(facts.verdicts))


def _state_entries(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What tells this GPU from others of its kind, as far as the file says."""
    power, usual = (number_of(state.get(f"power_limit{key}_w")) for key in ("", "_default"))
    generation, width = (number_of(state.get(f"pcie_{key}")) for key in ("generation", "width"))
    limit = f"{power:.0f} W" if power > 0 else ""
    if usual > 0 and usual != power:
        limit += f" ({usual:.0f} W by default)"
    return [
        ("UUID", clean(str(state.get("uuid", "")))),
        ("VBIOS", clean(str(state.get("vbios", "")))),
        ("Power limit", limit),
        ("PCIe", f"generation {generation:.0f}, x{width:.0f}" if generation * width > 0 else ""),
    ]


def _ungraded(verdicts: Mapping[str, Verdict]) -> Markup | None:
    labels = [v.label or "nothing known" for v in verdicts.values() if v.grade == UNGRADED]
    if not labels:
        return None
    what = ", ".join(dict.fromkeys(labels))
    return tag(
        "p",
        "Not graded: no law at their size, and nothing else to compare them with (bound by "
        f"{what}); a row's name in the table says which.",
        class_="small",
    )
