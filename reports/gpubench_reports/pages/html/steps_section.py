"""Which wall holds up the training steps of a file, and what each switch gains."""

from collections.abc import Iterable, Sequence

from gpubench_reports.common.units import argument_text, si
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.pages.html.pieces import row_name
from gpubench_reports.pages.terminal.steps import (
    PARTS_IN_WORDS,
    YES_OR_NO,
    gain_of,
    known_gains,
    mfu_of,
    peak_of,
    times,
)
from gpubench_reports.results.doubts import doubtful, doubts_line
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.steps import Answer, Diagnosis, diagnose_steps, steps_of

_STATES = {True: "good", False: "bad", None: "none"}


def steps(result: ResultFile) -> list[Markup]:
    """Where the time of each training step goes, and the answers to the four questions about it;
    nothing without a step."""
    found = diagnose_steps(result)
    if not found:
        return []
    words = (
        "Four questions, asked in this order, find the wall that holds up a training step: the "
        "first that is answered by no names it, and the next one what follows once it is gone. "
        "Products are the matrix products of the model. Times here are those of one step."
    )
    return [
        tag(
            "section",
            tag("h2", "What holds up a training step?"),
            tag("p", words),
            *_doubts(result),
            _table(("row", "wall", "try", "questions"), map(_answers, found), "Training steps"),
            tag("p", "Where the time of a step goes:"),
            _table(("row", "step", "MFU", *PARTS_IN_WORDS.values()), map(_parts, found), "Walls"),
            *_what_if(result),
            id="steps",
        )
    ]


def _doubts(result: ResultFile) -> list[Markup]:
    used = steps_of(result)
    line = doubts_line(doubtful(result, used), len(used))
    return [tag("p", tag("strong", f"{line[0].upper()}{line[1:]}."))] if line else []


def _answers(found: Diagnosis) -> Markup:
    share = f"{found.share:.0%} of the step" + (f"; then {found.then}" if found.then else "")
    wall = (tag("strong", found.wall), tag("div", tag("small", share)))
    return tag(
        "tr",
        tag("td", row_name(found.row), tag("div", tag("small", found.model)), class_="text"),
        tag("td", *wall, class_="text"),
        tag("td", found.change, tag("div", tag("small", gain_of(found))), class_="text"),
        tag("td", *map(_answer, found.answers), class_="text"),
    )


def _answer(one: Answer) -> Markup:
    answer = tag("span", YES_OR_NO[one.yes], class_=f"state {_STATES[one.yes]}")
    return tag("div", one.question, " ", answer, " ", tag("small", one.evidence))


def _parts(found: Diagnosis) -> Markup:
    shares = [f"{found.parts[key] / found.seconds:.1%}" for key in PARTS_IN_WORDS]
    return tag(
        "tr",
        tag("td", row_name(found.row), class_="text"),
        tag("td", si(found.seconds, "s")),
        tag("td", mfu_of(found), tag("div", tag("small", peak_of(found)))),
        *(tag("td", share) for share in shares),
    )


def _what_if(result: ResultFile) -> list[Markup]:
    known = known_gains([result])
    lines = [
        tag("tr", *(tag("td", cell) for cell in (switch, argument_text(hidden), times(gain))))
        for (switch, hidden), (gain,) in known.items()
    ]
    if not lines:
        return []
    words = "What if: how many times as fast as without it a step is with each switch."
    return [tag("p", words), _table(("with", "hidden", "times as fast"), lines, "What if")]


def _table(titles: Sequence[str], lines: Iterable[Markup], label: str) -> Markup:
    head = tag("tr", [tag("th", title, scope="col", class_="text") for title in titles])
    table = tag("table", tag("thead", head), tag("tbody", list(lines)))
    return tag("div", table, class_="scroll", tabindex="0", role="group", aria_label=label)
