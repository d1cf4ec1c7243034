"""The words beside a chart, from the rows that it shows."""

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import pandas as pd

from gpubench_reports.figures import BY_COLUMN, with_headline
from gpubench_reports.reader import Context
from gpubench_reports.sweeps import alike, axes
from gpubench_reports.units import argument_text, si
from gpubench_reports.verdicts import EXPECTED, UNGRADED, Verdict

_MOST_KERNELS = 4


@cache
def _texts() -> dict[str, dict[str, str]]:
    path = files("gpubench_reports").joinpath("paragraphs.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def how_to_read(kind: str) -> str:
    """How a chart of that kind is read."""
    return _texts()["read"].get(kind, _texts()["read"]["other"])


def caution(context: Context) -> str:
    """What a modelled chart cannot say; empty for a measured one."""
    return _texts()["caution"]["model"] if context.modelled else ""


def of_concept(rows: pd.DataFrame, verdicts: Mapping[str, Verdict]) -> str:
    """What one concept's `rows` (all of it, as the reader gives them) show, in a few sentences."""
    ok = rows[rows["status"] == "ok"]
    sentences = []
    if not ok.empty:
        ok = with_headline(ok)
        ranges = [_range(group) for group in alike(ok)]
        sentences += [text for text in ranges if text][:_MOST_KERNELS]
        sentences.append(_bounds(ok))
        sentences.append(_grades([verdicts[name] for name in ok["name"] if name in verdicts]))
    for status, word in (("skipped", "skipped"), ("failed", "failed")):
        lost = rows[rows["status"] == status]
        if not lost.empty:
            reasons = "; ".join(dict.fromkeys(lost["reason"]))
            sentences.append(f"{_count(len(lost))} {word}: {reasons[:200]}.")
    return " ".join(text for text in sentences if text)


def _range(group: pd.DataFrame) -> str:
    """From which row to which the figure of alike rows goes: "strided: useful bandwidth 1.03 TB/s
    (stride 32) to 32.9 TB/s (stride 1), 32 times as much."."""
    if len(group) < 2:
        return ""
    figure = BY_COLUMN[group["headline"].iloc[0]]
    least, most = group.loc[group["value"].idxmin()], group.loc[group["value"].idxmax()]
    times = most["value"] / least["value"]
    kernel = group["kernel"].iloc[0]
    swept = [name for name, values in axes(group).items() if len(values) > 1]

    def place(row: pd.Series) -> str:
        return ", ".join(f"{name} {argument_text(row['arguments'][name])}" for name in swept)

    if times < 1.02:
        over = f" whatever its {_listed(swept)}" if swept else ""
        return f"{kernel}: {figure.title} {si(most['value'], figure.unit)}{over}."
    where = [f" ({place(row)})" if swept else "" for row in (least, most)]
    factor = f"{times:.3g} times" if times < 1000 else "more than 1000 times"
    return (
        f"{kernel}: {figure.title} from {si(least['value'], figure.unit)}{where[0]} to "
        f"{si(most['value'], figure.unit)}{where[1]}, {factor} as much."
    )


def _bounds(ok: pd.DataFrame) -> str:
    labels = ok.loc[ok["label"] != "", "label"].value_counts()
    if labels.empty:
        return ""
    if len(labels) == 1:
        every = "Every row is" if len(ok) > 1 else "It is"
        return f"{every} bound by {labels.index[0]}."
    return "Bound by " + _listed([f"{label} ({_count(n)})" for label, n in labels.items()]) + "."


def _grades(found: list[Verdict]) -> str:
    graded = [v for v in found if v.grade != UNGRADED]
    if not graded:
        return "Nothing says what these rows should reach."
    off = sorted((v for v in graded if v.grade != EXPECTED), key=lambda v: -v.severity)
    if not off:
        farthest = max(graded, key=lambda v: abs(math.log(v.share)))
        gap = abs(farthest.share - 1) * 100
        return f"{_all(len(graded))} as expected, within {gap:.2g} % of {farthest.yardstick}."
    parts = [f"{v.name.partition('/')[2]} is {v.grade} ({v.share * 100:.3g} %)" for v in off[:2]]
    more = f", and {len(off) - 2} more are not as expected" if len(off) > 2 else ""
    return "Against what they should reach: " + _listed(parts) + more + "."


def _all(count: int) -> str:
    return "The one graded row is" if count == 1 else f"All {count} graded rows are"


def _count(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
