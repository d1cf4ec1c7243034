"""Tells a chat or another program where a machine stands, by a webhook that the user named."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from gpubench_reports.common.files import file_bytes
from gpubench_reports.common.json_text import json_text
from gpubench_reports.nightly.reporting.posting import is_url, send

_LINES = 30  # of a message; Teams takes 28 KB, of which a character may need four
_LINE = 200  # characters
_SLACK_TEXT = 2900  # characters; a section takes 3000
_TITLE = 150


@dataclass(frozen=True)
class Message:
    """What is told: a title, lines, and for programs the document of `status --json`."""

    title: str
    lines: tuple[str, ...]
    document: dict[str, Any]


@dataclass(frozen=True)
class Webhook:
    """KIND:URL, or KIND:@FILE with the URL in a file: it is a secret."""

    kind: str
    url: str
    file: Path | None = None  # where the URL was read

    @classmethod
    def parse(cls, text: str) -> "Webhook":
        """Raises ValueError with what is wrong."""
        kind, _, place = text.partition(":")
        if kind not in _BODIES:
            raise ValueError(f"'{kind}:': a webhook begins with {', '.join(_BODIES)} and a colon")
        file = Path(place[1:]) if place.startswith("@") else None
        if file is not None:
            try:
                place = file_bytes(file).decode("utf-8").strip()
            except (OSError, UnicodeError) as error:
                why = getattr(error, "strerror", None) or "is no text"
                raise ValueError(f"{file}: {why}") from None
        if not is_url(place):  # which is not shown: an address is a secret
            raise ValueError(f"{kind}: takes an address that begins with https:// or http://")
        return cls(kind, place, file)

    def post(self, message: Message) -> None:
        """Raises ReportError if it does not arrive."""
        body = _BODIES[self.kind](message)
        send(self.url, body, "application/json; charset=utf-8")


def _shortened(message: Message) -> list[str]:
    lines = [line if len(line) <= _LINE else f"{line[:_LINE]}..." for line in message.lines]
    more = len(lines) - _LINES
    return [*lines[:_LINES], f"and {more} more lines"] if more > 0 else lines


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _slack(message: Message) -> bytes:
    """https://api.slack.com/messaging/webhooks: `text` is what a notification shows."""
    escapes = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    text = "\n".join(_shortened(message)).replace("```", "` ` `")
    pieces = [escapes.get(character, character) for character in text]
    lengths = accumulate(len(piece) for piece in pieces)
    text = "".join(pieces[: sum(length <= _SLACK_TEXT for length in lengths)])
    title = {"type": "plain_text", "text": message.title[:_TITLE]}
    section = {"type": "mrkdwn", "text": f"```{text}```"}
    blocks = [{"type": "header", "text": title}, {"type": "section", "text": section}]
    return _encoded({"text": message.title, "blocks": blocks})


def _teams(message: Message) -> bytes:
    """An Adaptive Card, as a Workflows webhook takes it. Its runs of text are no Markdown."""
    title = {"text": message.title[:_TITLE], "weight": "Bolder", "size": "Medium"}
    lines = [{"text": line, "fontType": "Monospace"} for line in _shortened(message)]
    blocks = [
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun"} | run], "spacing": "None"}
        for run in (title, *lines)
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": blocks,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return _encoded({"type": "message", "attachments": [attachment]})


def _json(message: Message) -> bytes:
    text = {"title": message.title, "text": "\n".join(message.lines)}
    return json_text(text | message.document).encode()


_BODIES: dict[str, Callable[[Message], bytes]] = {"slack": _slack, "teams": _teams, "json": _json}
