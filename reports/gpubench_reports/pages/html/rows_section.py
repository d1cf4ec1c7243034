"""The table of all rows, its filters, and the raw values that a row opens."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from gpubench_reports.common.units import si
from gpubench_reports.pages.columns import Column, columns_of, percent
from gpubench_reports.pages.html.facts import Facts
from gpubench_reports.pages.html.markup import Markup, data_block, joined, packed, tag
from gpubench_reports.pages.html.pieces import row_name
from gpubench_reports.results.headlines import headline_text
from gpubench_reports.rules.verdicts.rulebook import rules
from gpubench_reports.rules.verdicts.verdict import EXPECTED, HIGH, LOW, MEANT, UNGRADED, Verdict

_MOST_ROWS = 1200  # of the table, and with raw values


def listed_rows(facts: Facts) -> pd.DataFrame:
    """The rows that the table has room for: of too many, those that are not as expected first."""
    rows, verdicts = facts.result.rows, facts.verdicts
    if len(rows) <= _MOST_ROWS:
        return rows
    order = {LOW: 1, HIGH: 1, EXPECTED: 3, MEANT: 3, UNGRADED: 3}
    rank = [
        0 if status == "failed" else order[verdicts[name].grade] if name in verdicts else 2
        for name, status in zip(rows["name"], rows["status"], strict=True)
    ]
    kept = pd.Series(rank, index=rows.index).sort_values(kind="stable").index[:_MOST_ROWS]
    return rows.loc[sorted(kept)]


def links_to(rows: pd.DataFrame) -> dict[str, tuple[int, str]]:
    """The number in the table, name and figure of every listed row with a time, by its name."""
    return {
        record["name"]: (index, f"{record['name']}: {headline_text(record)}")
        for index, record in enumerate(rows[["name", "status", "value", "unit"]].to_dict("records"))
        if record["status"] == "ok"
    }


def rows_section(facts: Facts, rows: pd.DataFrame) -> Markup:
    """The table of the `rows` that are listed, with what filters it above."""
    columns = columns_of(rows, facts.verdicts, facts.result.context)
    titles = [
        tag(
            "th",
            tag("button", column.title, type="button"),
            scope="col",
            class_="text" if column.is_text else None,
        )
        for column in columns
    ]
    lines = [
        _line(facts, record, columns, index) for index, record in enumerate(rows.to_dict("records"))
    ]
    table = tag(
        "table",
        tag("caption", "A column's head sorts; a row's name opens its raw values and verdict."),
        tag("thead", tag("tr", titles)),
        tag("tbody", lines),
    )
    more = len(facts.result.rows) - len(rows)
    note = f"The file has {more} more rows than this table: gpubench-report csv lists them all."
    return tag(
        "section",
        tag("h2", "Rows", tabindex="-1", id="rows"),
        _filters(facts),
        tag("p", _legend(), class_="small"),
        tag("p", note, class_="banner") if more else None,
        tag(
            "div",
            table,
            class_="table",
            id="rows-table",
            tabindex="0",
            role="group",
            aria_label="Table of rows",
        ),
    )


def _line(facts: Facts, record: dict[str, Any], columns: Sequence[Column], index: int) -> Markup:
    """The row `index` of the table."""
    verdict = facts.verdicts.get(record["name"])
    cells = []
    for column in columns:
        shown, number = column.texts[index], column.numbers[index]
        content: object = shown
        if column.key == "name":
            content = joined(
                tag("button", row_name(shown), class_="link", type="button", data_row=index),
                _warp_link(facts, shown),
            )
        value = None if math.isnan(number) else f"{number:.6g}"
        look = "text note" if column.key == "note" else "text" if column.is_text else None
        cells.append(tag("td", content, data_v=value, class_=look))
    return tag(
        "tr",
        *cells,
        id=f"row-{index}",
        data_concept=record["concept"],
        data_wall=(verdict.wall or "unknown") if verdict else "",
        data_grade=verdict.grade if verdict else record["status"],
    )


def _warp_link(facts: Facts, name: str) -> Markup | None:
    """To the picture of a warp of the row, where there is one."""
    for number, explanation in enumerate(facts.explained, start=1):
        if explanation.name == name:
            return tag("a", "a warp's lanes", href=f"#chart-warp-{number}", class_="lanes")
    return None


def _legend() -> str:
    return (
        "Time: the median. Law ratio: the result divided by the concept's law; 1 means that theory "
        "holds. Of roof: the share of the roof that limits the row. A roof of this run is the best "
        "of the rows that measure it, and includes their starts and ends. A row that runs longer, "
        "or only reads, can exceed the roof by a little; up to "
        f"{rules()['limits']['roof_high'] * 100:.0f} % is as expected. Bound: what limits the row, "
        "and which of the three walls that is. Prefixes are powers of 1000."
    )


def _filters(facts: Facts) -> Markup:
    result, verdicts = facts.result, facts.verdicts
    concepts = list(dict.fromkeys(result.rows["concept"]))
    walls = list(dict.fromkeys(v.wall or "unknown" for v in verdicts.values()))
    states = [s for s in ("failed", "skipped") if (result.rows["status"] == s).any()]
    grades = [*states, *dict.fromkeys(v.grade for v in verdicts.values())]

    def choice(title: str, key: str, values: Sequence[str]) -> Markup:
        options = [tag("option", "all", value="")]
        options += [tag("option", value, value=value) for value in values]
        return tag("label", title, tag("select", options, data_filter=key))

    words = tag(
        "input",
        type="search",
        id="words",
        autocomplete="off",
        placeholder="words, all of them in the row",
    )
    return tag(
        "div",
        tag("label", "Search", words),
        choice("Concept", "concept", concepts),
        choice("Wall", "wall", walls),
        choice("Grade", "grade", grades),
        tag("button", "Clear", type="button", id="clear"),
        tag("span", id="count", role="status", aria_live="polite"),
        class_="filters",
    )


def raw_values(facts: Facts, rows: pd.DataFrame) -> Markup:
    entries = []
    for record in rows.to_dict("records"):
        verdict = facts.verdicts.get(record["name"])
        words = _words(verdict) if verdict else f"{record['status']}: {record['reason']}"
        entries.append({"raw": record["raw"], "words": words, "tip": _tip(record, verdict)})
    return data_block("raw", packed(entries))


def _tip(record: dict[str, Any], verdict: Verdict | None) -> list[list[str]]:
    """What is told of the row where its point is: pairs of a title and words."""
    if record["status"] != "ok":
        return []
    unit, of_roof = record["unit"], record["roof_fraction"]
    interval = [record["low"], record["high"]]
    known = [
        ("value", si(record["value"], unit)),
        ("95 % interval", _joined(interval, unit)),
        ("law", _joined([record["law_value"]], unit)),
        ("model", _joined([record["predicted"]], unit)),
        ("roof", f"{percent(of_roof)} of {record['roof']}" if of_roof > 0 else ""),
        ("bound by", verdict.bound_words if verdict else ""),
        ("grade", verdict.grade if verdict else ""),
        ("source", record["source"]),
    ]
    return [[title, words] for title, words in known if words]


def _joined(values: Sequence[float], unit: str) -> str:
    """An interval, or one value; nothing where a value is not known or the ends are one."""
    shown = [si(value, unit) for value in values if not math.isnan(value)]
    return " … ".join(shown) if len(shown) == len(set(shown)) == len(values) else ""


def _words(verdict: Verdict) -> str:
    expected = f" ({verdict.expectation})" if verdict.expectation else ""
    parts = [f"{verdict.grade}: {verdict.sentence}{expected}."]
    if verdict.means:
        parts.append(f"This means: {verdict.means}.")
    for cause in verdict.causes:
        parts.append(f"{cause.says} ({cause.evidence}): {cause.change}.")
    if verdict.change:
        parts.append(f"To be faster: {verdict.change}. Would not help: {verdict.no_help}.")
    return " ".join(parts)
