"""Which wall holds up the training steps of a file, and what each switch gains."""

from gpubench_reports.common.units import si
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import row_name
from gpubench_reports.pages.terminal.steps import times
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.steps import Diagnosis, diagnose_steps, gains


def steps(result: ResultFile) -> list[Markup]:
    """The four questions about each training step and their answers; nothing without a step."""
    found = diagnose_steps(result)
    if not found:
        return []
    words = (
        "Four questions, asked in this order, find the wall that holds up a training step: the "
        "first that is answered by no names it."
    )
    questions = [answer.question for answer in found[0].answers]
    titles = ("row", "step", "MFU", *questions, "wall", "try")
    return [
        tag(
            "section",
            tag("h2", "What holds up a training step?"),
            tag("p", words),
            _table(titles, [_line(one) for one in found], "Training steps"),
            tag("p", "What if: how many times as fast a step is with each switch."),
            _table(("with", "hidden", "times as fast"), _gains(result), "What if"),
            id="steps",
        )
    ]


def _line(found: Diagnosis) -> Markup:
    answers = [
        tag(
            "td",
            tag("span", "yes" if one.yes else "no", class_=f"state {'good' if one.yes else 'bad'}"),
            tag("div", tag("small", one.evidence)),
            class_="text",
        )
        for one in found.answers
    ]
    wall = (tag("strong", found.wall), tag("div", tag("small", f"{found.share:.0%} of the step")))
    gain = times(found.gain)
    switch = f"with:{found.switch}, {gain}" if found.switch else gain
    return tag(
        "tr",
        tag("td", row_name(found.row), class_="text"),
        tag("td", si(found.seconds, "s")),
        tag("td", f"{found.mfu:.1%}"),
        *answers,
        tag("td", *wall, class_="text"),
        tag("td", found.change, tag("div", tag("small", switch)), class_="text"),
    )


def _gains(result: ResultFile) -> list[Markup]:
    return [
        tag("tr", *(tag("td", cell) for cell in (switch, hidden, times(gain))))
        for (switch, hidden), (gain,) in gains([result]).items()
    ]


def _table(titles: tuple[str, ...], lines: list[Markup], label: str) -> Markup:
    head = tag("tr", [tag("th", title, scope="col", class_="text") for title in titles])
    table = tag("table", tag("thead", head), tag("tbody", lines))
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label=label)
