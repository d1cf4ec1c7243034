"""The roofs: the card of all, and the few that the first screen tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpubench_reports.charts import style
from gpubench_reports.charts.roofs_chart import pairs
from gpubench_reports.common.units import si
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import card
from gpubench_reports.results.baselines import baseline, baselines
from gpubench_reports.results.context import Roof
from gpubench_reports.results.reader import ResultFile

_FIRST_ROOFS = ("dram", "l2", "fp32", "tensor_bf16")  # as far as the file has them
_MOST_NAMED = 3
_ROOF_LOW = 0.9  # of the expected roof: less is worth a colour


@dataclass(frozen=True)
class Reached:
    """A roof as this run has it, and the share of what is expected of it."""

    title: str
    value: str
    share: float
    of: str  # what the share is of

    @property
    def is_low(self) -> bool:
        return self.share < _ROOF_LOW


def roofs_reached(result: ResultFile) -> list[Reached]:
    """The roofs that people ask for first, over those of the device's modelled run, else over the
    device file's; of the others the ones that fall short."""
    context = result.context
    modelled: Mapping[str, Roof] = {}
    if not context.modelled and context.device in baselines():
        roofs = baseline(context.device).context.roofs
        modelled = {roof.name: roof for roof in roofs if roof.provenance == "modelled"}
    found = []
    for pair in pairs(context.roofs):
        expected = modelled.get(pair.name) or pair.filed
        if pair.found is None or expected is None:
            continue
        of = "expected" if pair.name in modelled else "its device file"
        value = si(pair.found.value, pair.unit)
        one = Reached(pair.title, value, pair.found.value / expected.value, of)
        if pair.name in _FIRST_ROOFS or one.is_low:
            found.append((pair.name, one.share, one))
    places = {name: place for place, name in enumerate(_FIRST_ROOFS)}
    found.sort(key=lambda entry: (places.get(entry[0], len(places)), entry[1]))
    return [one for *_, one in found]


def short_of(low: Sequence[Reached]) -> str:
    """How far roofs that are low are from what is expected: "dram is at 84 % of expected"."""
    shares = sorted(round(one.share * 100) for one in low)
    titles = [one.title for one in low[:_MOST_NAMED]]
    if len(low) > _MOST_NAMED:
        titles.append(f"{len(low) - _MOST_NAMED} more")
    names = " and ".join([", ".join(titles[:-1]), titles[-1]] if len(titles) > 1 else titles)
    span = f"{shares[0]} to {shares[-1]}" if shares[0] < shares[-1] else str(shares[0])
    return f"{names} {'are' if len(low) > 1 else 'is'} at {span} % of {low[0].of}"


def roofs_card(result: ResultFile) -> Markup:
    """Every roof once: as this run has it, as the device file has it, and how the two compare."""
    context = result.context
    lines = []
    by_row = False
    for pair in pairs(context.roofs):
        name, known = pair.name, pair.filed
        own_row = pair.found or pair.kind == "bandwidth"
        row, best = ("", 0.0) if own_row else _best_row(result, name)
        by_row = by_row or best > 0
        reached = pair.found.value if pair.found else best
        shown: object = si(reached, pair.unit) if reached else "no row"
        if best:
            shown = tag("span", f"{shown} *", title=f"by {row}")
        share = f"{reached / known.value * 100:.0f} %" if reached and known else ""
        said = [
            tag(
                "div",
                si(roof.value, pair.unit),
                " ",
                tag("small", style.ROOF_WORDS[roof.provenance]),
            )
            for roof in pair.all_filed
        ]
        lines.append(
            tag(
                "tr",
                tag("th", pair.title, scope="row", class_="text"),
                tag("td", shown),
                tag("td", said),
                tag("td", share),
            )
        )
    if not lines:
        return card("Its roofs", tag("p", "The file states no roof."))
    titles = ("roof", context.verb, "device file", "of device file")
    head = tag(
        "tr",
        [
            tag("th", title, scope="col", class_="text" if title == "roof" else None)
            for title in titles
        ],
    )
    table = tag("table", tag("thead", head), tag("tbody", lines))
    words = (
        f"The most that each part of the device delivers: as {context.verb} by the rows for this "
    )
    words += "roof, and as stated in the device file, with the source."
    if by_row:
        words += " * No row measures this roof. The value is the best row that it limits."
    return card(
        "Its roofs",
        tag("div", table, class_="scroll", tabindex="0", role="group", aria_label="Roofs"),
        tag("p", words, class_="small"),
    )


def _best_row(result: ResultFile, roof: str) -> tuple[str, float]:
    """The fastest of the rows that a compute roof bounds, and its rate; ("", 0) if none is."""
    rows = result.ok[(result.ok["roof"] == roof) & (result.ok["flops_per_second"] > 0)]
    if rows.empty:
        return "", 0.0
    best = rows.loc[rows["flops_per_second"].idxmax()]
    return best["name"], float(best["flops_per_second"])
