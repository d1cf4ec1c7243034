"""The words beside a chart, from the rows that it shows."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from gpubench_reports.common.units import argument_text, plural
from gpubench_reports.pages.answers import all_as_expected
from gpubench_reports.results.context import Context
from gpubench_reports.results.headlines import headline_text, quantity_of_records
from gpubench_reports.results.sweeps import alike_records, axes_of
from gpubench_reports.rules.verdicts.rulebook import ratio
from gpubench_reports.rules.verdicts.verdict import EXPECTED, FINE, MEANT, UNGRADED, Verdict

_MOST_KERNELS = 4  # in a text of one paragraph
_MUCH = 1.2  # times: a range worth the one line that a section opens with


Records = Sequence[Mapping[str, Any]]


@cache
def _texts() -> dict[str, dict[str, str]]:
    path = files("gpubench_reports.pages").joinpath("paragraphs.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def how_to_read(kind: str) -> str:
    """How a chart of that kind is read."""
    return _texts()["read"].get(kind, _texts()["read"]["other"])


def title_of(kind: str) -> str:
    """What a chart of that kind is, in a few words."""
    return _texts()["titles"].get(kind, _texts()["titles"]["other"])


def caution(context: Context) -> str:
    """What a modelled chart cannot say; empty for a measured one."""
    return _texts()["caution"]["model"] if context.modelled else ""


def of_concept(rows: Records, verdicts: Mapping[str, Verdict]) -> str:
    """What one concept's `rows` (all of it, as the reader gives them) show, as one paragraph."""
    kernels, rest = sentences_of(rows, verdicts)
    more = len(kernels) - _MOST_KERNELS
    if more > 0:
        kernels = [*kernels[:_MOST_KERNELS], f"And {more} more sweeps."]
    return " ".join([*kernels, *rest])


def in_a_line(rows: Records, verdicts: Mapping[str, Verdict]) -> str:
    """What was found of one concept, in a line: the range of its first kernel whose rows differ by
    much, and how many rows are not as expected."""
    ok = [row for row in rows if row["status"] == "ok"]
    if not ok:
        return sentences_of(rows, verdicts)[1][0]
    groups = [group for group in alike_records(ok) if len(group) > 1]
    told = [group for group in groups if not _times(group) <= _MUCH] or groups
    judged = [verdicts[row["name"]] for row in ok if row["name"] in verdicts]
    graded = [verdict for verdict in judged if verdict.grade != UNGRADED]
    off = [verdict for verdict in graded if verdict.grade not in FINE]
    said = [_range(group) for group in told[:1]]
    if off:
        worst = max(off, key=lambda verdict: verdict.severity)
        kernel = worst.name.partition("/")[2]
        of_all = f"{len(off)} of {plural(len(graded), 'row')}"
        said.append(f"{of_all} not as expected; worst: {kernel}.")
    elif graded:
        said.append(f"{all_as_expected(len(graded))}.")
    return " ".join(said) or _bounds(judged) or "Nothing to compare it with."


def sentences_of(rows: Records, verdicts: Mapping[str, Verdict]) -> tuple[list[str], list[str]]:
    """What one concept's `rows` (all of it, as the reader gives them) show: a sentence for each
    kernel that sweeps something, and sentences about all of it."""
    ok = [row for row in rows if row["status"] == "ok"]
    kernels: list[str] = []
    rest: list[str] = []
    if ok:
        kernels = [_range(group) for group in alike_records(ok)]
        judged = [verdicts[row["name"]] for row in ok if row["name"] in verdicts]
        rest += [_bounds(judged), *_grades(judged)]
    for status in ("skipped", "failed"):
        lost = [row["reason"] for row in rows if row["status"] == status]
        if lost:
            reasons = "; ".join(dict.fromkeys(lost))
            rest.append(f"{plural(len(lost), 'row')} {status}: {reasons[:200]}.")
    return [text for text in kernels if text], [text for text in rest if text]


def _ends(group: Records) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The rows with the least and the most."""
    return min(group, key=_value), max(group, key=_value)


def _value(row: Mapping[str, Any]) -> float:
    return float(row["value"])


def _times(group: Records) -> float:
    """How many times the least the most is; NaN if the least is 0."""
    least, most = _ends(group)
    return ratio(most["value"], least["value"])


def _range(group: Records) -> str:
    """From which row to which the figure of alike rows goes: "strided: useful bandwidth 1.03 TB/s
    (stride 32) to 32.9 TB/s (stride 1), a factor of 32."."""
    if len(group) < 2:
        return ""
    quantity = quantity_of_records(group)
    (least, most), times = _ends(group), _times(group)
    kernel = group[0]["kernel"]
    axes = axes_of([row["arguments"] for row in group])
    swept = [name for name, values in axes.items() if len(values) > 1]

    def place(row: Mapping[str, Any]) -> str:
        return ", ".join(f"{name} {argument_text(row['arguments'][name])}" for name in swept)

    if times < 1.02:
        over = f", the same for every {_listed(swept)}" if swept else ""
        return f"{kernel}: {quantity.title} {headline_text(most)}{over}."
    where = [f" ({place(row)})" if swept else "" for row in (least, most)]
    factor = f"{times:.3g}" if times < 1000 else "more than 1000"
    return (
        f"{kernel}: {quantity.title} from {headline_text(least)}{where[0]} to "
        f"{headline_text(most)}{where[1]}, a factor of {factor}."
    )


def _bounds(judged: list[Verdict]) -> str:
    if not any(v.bound for v in judged):
        return ""
    bounds = Counter(v.bound_words or "nothing known" for v in judged).most_common()
    if len(bounds) == 1:
        every = "Every row is" if len(judged) > 1 else "It is"
        return f"{every} bound by {bounds[0][0]}."
    parts = [f"{bound} ({plural(n, 'row')})" for bound, n in bounds]
    return f"Bound by {_listed(parts)}."


def _grades(found: list[Verdict]) -> list[str]:
    """How far the rows are from what each was compared with, and why some were not."""
    graded = [v for v in found if v.grade != UNGRADED]
    fine = [v for v in graded if v.grade == EXPECTED]
    off = sorted((v for v in graded if v.grade not in FINE), key=lambda v: -v.severity)
    meant = [v for v in graded if v.grade == MEANT]
    said = []
    if off:
        parts = [
            f"{v.name.partition('/')[2]} is {v.grade} ({v.share * 100:.3g} % of {v.yardstick})"
            for v in off[:2]
        ]
        more = f", and {plural(len(off) - 2, 'more row')}" if len(off) > 2 else ""
        said.append("Not as expected: " + _listed(parts) + more + ".")
    if meant:
        lowest = min(v.share for v in meant)
        low = plural(len(meant), "row")
        said.append(f"Low on purpose: {low}, down to {lowest * 100:.3g} %.")
    if fine:
        shares: dict[str, list[float]] = {}
        for verdict in fine:
            shares.setdefault(verdict.yardstick, []).append(verdict.share)
        each = [f"at {_span(some)} of {yardstick}" for yardstick, some in shares.items()]
        if len(shares) > 1:
            counts = [len(some) for some in shares.values()]
            each = [f"{count} {text}" for count, text in zip(counts, each, strict=True)]
        which = (
            f"{plural(len(fine), 'row')} as expected"
            if off or meant
            else all_as_expected(len(fine))
        )
        said.append(f"{which}{':' if len(shares) > 1 else ','} {_listed(each)}.")
    without = [v.label or "nothing known" for v in found if v.grade == UNGRADED]
    if without:
        labels = _listed(list(dict.fromkeys(without)))
        it = "it" if len(without) == 1 else "them"
        said.append(
            f"{plural(len(without), 'row')} not graded: no law at that size or shape, and "
            f"nothing else to compare {it} with (bound by {labels})."
        )
    return said


def _span(shares: list[float]) -> str:
    """From which share to which: "91-98 %"."""
    low, high = (f"{share * 100:.3g}" for share in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low}-{high} %"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
