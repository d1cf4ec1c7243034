"""A file in Markdown, for a pull request or a job's summary: short, with what stands out."""

import math
from collections.abc import Mapping, Sequence

from gpubench_reports.charts import style
from gpubench_reports.common.plain_text import as_sentence, clean
from gpubench_reports.common.units import si
from gpubench_reports.comparisons.compare import Comparison
from gpubench_reports.comparisons.speedups import means
from gpubench_reports.pages import paragraphs
from gpubench_reports.pages.answers import all_as_expected
from gpubench_reports.results.context import PROVENANCES_OF_RUN, Context
from gpubench_reports.results.headlines import headline_text
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.results.rows import by_concept
from gpubench_reports.rules.claims import Finding
from gpubench_reports.rules.goals import Outcome
from gpubench_reports.rules.verdicts.health import health
from gpubench_reports.rules.verdicts.verdict import FINE, MEANT, UNGRADED, Verdict, worst

_MOST = 15  # rows in a list
_MOST_MEANT = 3  # of those that demonstrate something


def to_markdown(
    result: ResultFile, verdicts: Mapping[str, Verdict], comparisons: Sequence[Comparison] = ()
) -> str:
    """The device and its health, roofs, verdicts, a paragraph per concept, and for each comparison
    the means by concept and the rows that changed most."""
    context = result.context
    lines = _head(context.device_title, context)
    state = health(result)
    word = {True: state.word, False: "**not healthy**", None: "health not observed"}[state.well]
    lines += [
        f"{len(result.timed)} of {len(result.records) + context.not_run} rows {context.verb}; "
        f"{word}: "
        f"{escape('; '.join(state.sentences) or 'nothing is known')}.",
        "",
    ]
    if state.fault:
        fault = state.fault
        lines += [f"**Probably: {escape(fault.sentence)}.** Look at: {escape(fault.look)}.", ""]
    lines += _verdict(result, verdicts)
    for comparison in comparisons:
        lines += _comparison(comparison)
    lines += _roofs(result)
    lines += ["### Concepts", ""]
    for concept, rows in by_concept(result.records).items():
        lines += [f"- **{escape(concept)}**: {escape(paragraphs.of_concept(rows, verdicts))}"]
    return "\n".join(lines) + "\n"


def _head(title: str, context: Context) -> list[str]:
    """The title, the run, and what to know before any of its figures."""
    lines = [f"## {escape(title)}", "", escape(style.run_line(context)), ""]
    if context.modelled:
        lines += [f"**{style.WATERMARK}**: every figure here is a prediction.", ""]
    for words in context.reservations:
        lines += [f"**{escape(as_sentence(words))}**", ""]
    return lines


def claims_to_markdown(result: ResultFile, findings: Sequence[Finding]) -> str:
    """A table of the claims with our figures and verdicts, then what to know about each."""
    lines = _head(f"Claims: {result.context.device_title}", result.context)
    lines += ["| # | claim | our result | claimed | verdict |", "|---|---|---|---|---|"]
    for finding in findings:
        figures = [
            f"{one.text}: {'; '.join(filter(None, (one.where, one.beside)))}"
            for one in finding.tried
        ]
        ranges = dict.fromkeys(one.case.claimed for one in finding.tried if one.case.judges)
        cells = (
            str(finding.claim.number),
            escape(finding.claim.says),
            "<br>".join(map(escape, figures)),
            "<br>".join(map(escape, ranges)),
            f"**{finding.verdict}**",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for finding in findings:
        lines.append(f"- {finding.claim.number}: {escape(finding.notes)}")
    return "\n".join(lines) + "\n"


def goals_to_markdown(context: Context, outcomes: Sequence[Outcome]) -> str:
    """A table of the goals with our figures and whether they are met."""
    lines = _head(f"Goals: {context.device_title}", context)
    lines += ["| goal | wanted | found | | of |", "|---|---|---|---|---|"]
    for one in outcomes:
        cells = (one.goal.what, one.goal.wanted, one.text, f"**{one.verdict}**", one.words)
        lines.append(f"| {' | '.join(c if c.startswith('**') else escape(c) for c in cells)} |")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text that means itself in Markdown, on one line, also in a table."""
    flat = " ".join(text.split())
    for character in "\\`*_{}[]<>#|~":
        flat = flat.replace(
            character,
            f"\\{character}" if character not in "<>" else {"<": "&lt;", ">": "&gt;"}[character],
        )
    return flat.replace("@", "@\u200b")  # names nobody who happens to be called so


def code_of(name: str) -> str:
    """A row's name in code letters, also in a table; a backtick in it cannot end them."""
    return "`" + " ".join(name.split()).replace("`", "'").replace("|", "\\|") + "`"


def _verdict(result: ResultFile, verdicts: Mapping[str, Verdict]) -> list[str]:
    failed = [row for row in result.records if row["status"] == "failed"]
    lines = []
    for row in failed[:_MOST]:
        lines.append(f"- {code_of(row['name'])} **failed**: {escape(row['reason'])}")
    off = [v for v in verdicts.values() if v.grade not in FINE]
    off.sort(key=lambda verdict: verdict.urgency)
    lines += [_told(verdict) for verdict in off[:_MOST]]
    hidden = max(len(failed) - _MOST, 0) + max(len(off) - _MOST, 0)
    if hidden:
        lines.append(f"- and {hidden} more")
    meant = [_told(v) for v in verdicts.values() if v.grade == MEANT]
    shown = ["### Low on purpose", "", *meant[:_MOST_MEANT], ""] if meant else []
    if lines:
        return ["### Not as expected", "", *lines, "", *shown]
    nearest = worst(verdicts.values())
    if not nearest:
        return ["No row was graded.", "", *shown]
    (found,) = nearest
    row = next(row for row in result.timed if row["name"] == found.name)
    graded = sum(verdict.grade not in (MEANT, UNGRADED) for verdict in verdicts.values())
    place = f"{code_of(found.name)} at {escape(headline_text(row))}: {escape(found.sentence)}"
    fine = all_as_expected(graded, "other graded" if meant else "graded")
    if result.context.interrupted:
        fine += ", of those that were run"
    return [f"{fine}. The nearest to being low is {place}.", "", *shown]


def _told(verdict: Verdict) -> str:
    return (
        f"- {code_of(verdict.name)} is **{verdict.grade}**: {escape(verdict.sentence)}. "
        f"Why: {escape(verdict.why)}."
    )


def _comparison(comparison: Comparison) -> list[str]:
    lines = [f"### Against {escape(clean(comparison.a.path.name))}", ""]
    lines += [f"> {escape(warning)}" for warning in comparison.cautions]
    lines += ["", "| concept | rows | speed, this / other | 95 % interval |", "|---|---|---|---|"]
    for line in means(comparison.rows, "concept").to_dict("records"):
        interval = "" if math.isnan(line["low"]) else f"{line['low']:.3f} … {line['high']:.3f}"
        lines.append(
            f"| {escape(line['concept'])} | {line['rows']} | {line['ratio']:.3f} | {interval} |"
        )
    changed = comparison.rows[comparison.rows["verdict"].isin(["faster", "slower"])]
    order = changed["ratio"].apply(math.log).abs().sort_values(ascending=False, kind="stable")
    if not changed.empty:
        lines += ["", "| row | speed, this / other | |", "|---|---|---|"]
        for row in changed.loc[order.index[:_MOST]].to_dict("records"):
            lines.append(f"| {code_of(row['name'])} | {row['ratio']:.3f} | {row['verdict']} |")
    return [*lines, ""]


def _roofs(result: ResultFile) -> list[str]:
    roofs = result.context.roofs
    if not roofs:
        return []
    verb = result.context.verb
    lines = [f"| roof | {verb} | known |", "|---|---|---|"]
    for name in dict.fromkeys(roof.name for roof in roofs):
        cells = ["", ""]
        for roof in roofs:
            place = 0 if roof.provenance in PROVENANCES_OF_RUN else 1
            if roof.name == name and not cells[place]:
                word = f", {style.ROOF_WORDS[roof.provenance]}" if place else ""
                cells[place] = escape(si(roof.value, roof.unit) + word)
        lines.append(f"| {escape(name)} | {cells[0]} | {cells[1]} |")
    return ["### Roofs", "", *lines, ""]
