"""HTML that cannot be injected into: text is escaped unless it is Markup, and only this module and
constants make Markup."""

import html
import json
from typing import Any


class Markup(str):
    """A string that already is HTML."""

    __slots__ = ()


def text(value: object) -> Markup:
    """`value` as HTML text."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value), quote=True))


def joined(*parts: object) -> Markup:
    """The parts, escaped, one after another; lists are flattened, None is left out."""
    flat: list[str] = []
    for part in parts:
        if isinstance(part, list | tuple):
            flat.append(joined(*part))
        elif part is not None:
            flat.append(text(part))
    return Markup("".join(flat))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element. Attribute names lose a trailing underscore and turn others into dashes; True is
    an attribute without a value, None and False leave it out."""
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        written.append(f" {key}" if value is True else f' {key}="{text(value)}"')
    head = f"<{name}{''.join(written)}>"
    if name in ("meta", "input", "img", "br", "col"):
        return Markup(head)
    return Markup(f"{head}{joined(*content)}</{name}>")


def packed(value: Any) -> dict[str, Any]:
    """`value` for JSON of half the size: objects of the same keys become lists that begin with the
    number of their keys, lists begin with -1, and numbers have seven digits. report.js unpacks."""
    keys: dict[tuple[str, ...], int] = {}

    def pack(part: Any) -> Any:
        if isinstance(part, dict):
            number = keys.setdefault(tuple(part), len(keys))
            return [number, *map(pack, part.values())]
        if isinstance(part, list | tuple):
            return [-1, *map(pack, part)]
        return float(f"{part:.7g}") if isinstance(part, float) else part

    inside = pack(value)
    return {"keys": [list(names) for names in keys], "value": inside}


def data_block(identity: str, value: Any) -> Markup:
    """`value` as JSON that a script of the page can read and a browser never runs.

    `<` and `&` are written as escapes, so that nothing inside can end the block.
    """
    content = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        content = content.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{text(identity)}">{content}</script>')
