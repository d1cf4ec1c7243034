"""The dates of files, which machines in several time zones have written."""

from datetime import UTC, date, datetime


def moment_of(text: str) -> datetime | None:
    """The date in UTC. A date without a zone counts as UTC. None if the text is not a date."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the latter beyond the years 1 and 9999
        return None


def order_of(text: str) -> datetime:
    """To sort dates by; what is not a date comes first."""
    return moment_of(text) or datetime.min.replace(tzinfo=UTC)


def day_of(text: str) -> str:
    """The day in the one form in which days can be compared as texts, YYYY-MM-DD; empty if it is
    none."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return ""
