"""Text from files and names of files, made harmless: for a terminal, for XML, for one line."""

from typing import Any

# What a spreadsheet takes for a formula's first character: a Japanese or Chinese one also where it
# is fullwidth, or a small form.
STARTS_FORMULA = tuple("=+-@" + "\uff1d\uff0b\uff0d\uff20" + "\ufe66\ufe62\ufe63\ufe6b")


def clean(text: str) -> str:
    """`text` without what neither a terminal nor XML can hold; each becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _harmless(ord(c)) else "\ufffd" for c in text)


def cleaned(document: Any) -> Any:
    """A JSON document whose every text and key is clean."""
    if isinstance(document, dict):
        return {clean(key): cleaned(value) for key, value in document.items()}
    if isinstance(document, list):
        return [cleaned(value) for value in document]
    return clean(document) if isinstance(document, str) else document


def as_sentence(words: str) -> str:
    """`words`, of which there is at least one, with a capital and a full stop."""
    return f"{words[0].upper()}{words[1:]}."


def _harmless(code: int) -> bool:
    control = code < 0x20 or 0x7F <= code < 0xA0 or code in (0x2028, 0x2029)
    surrogate = 0xD800 <= code <= 0xDFFF
    direction = code in (0x061C, 0x200E, 0x200F)  # would reorder the line
    direction = direction or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069
    return not (control or surrogate or direction or code & 0xFFFE == 0xFFFE)
