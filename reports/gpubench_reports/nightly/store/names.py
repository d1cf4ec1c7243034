"""Names of a store's folders and files."""

import re

from gpubench_reports.common.errors import ReportError


def folder_name(text: str) -> str:
    """`text` as a folder's name: a machine's, or a concept's in a file name."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip(".-")[:100] or "unnamed"


def machine_folder(name: str) -> str:
    """The folder of the machine that somebody calls `name`. ReportError unless it is `name` itself:
    two names must not share one history."""
    folder = folder_name(name)
    if folder != name:
        likely = "" if folder == "unnamed" else f", such as {folder}"
        form = "up to 100 letters from A to Z, digits and . _ + - (not first or last: . -)"
        raise ReportError("--machine", f"'{name[:40]}' is no machine's name: {form}{likely}")
    return folder
