"""What every page has around its body, and the banner of one whose figures are modelled."""

import base64
import hashlib

from gpubench_reports import __version__
from gpubench_reports.charts import style
from gpubench_reports.common.plain_text import as_sentence
from gpubench_reports.pages.html.markup import Markup, tag
from gpubench_reports.results.context import Context


def framed(title: str, sheet: str, body: Markup, allowed: str = "") -> str:
    """The whole page, as its file has it. Its Content-Security-Policy forbids every request and
    every script but what `allowed` says: directives, each with its semicolon."""
    policy = (
        f"default-src 'none'; {allowed}style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"gpubench-report {__version__}"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title}: gpubench"),
        tag("style", Markup(sheet)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def script_and_policy(script: str) -> tuple[Markup, str]:
    """A script of the page's own, and the directive for `framed` that allows it and no other."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return tag("script", Markup(script)), f"script-src 'sha256-{digest}'; "


def reservations(context: Context) -> list[Markup]:
    """What to know of the run before any of its figures: a banner each."""
    return [tag("p", as_sentence(words), class_="banner") for words in context.reservations]


def modelled_banner(*more: object) -> Markup:
    """Says that nothing was measured, and `more`."""
    return tag(
        "p",
        f"{style.WATERMARK}: every figure here is a prediction. ",
        *more,
        class_="banner",
    )
