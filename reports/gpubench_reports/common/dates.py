"""The dates of files, which machines in several time zones have written."""

from datetime import UTC, datetime


def moment_of(date: str) -> datetime | None:
    """The date in UTC. A date without a zone counts as UTC. None if the text is not a date."""
    try:
        found = datetime.fromisoformat(date)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the latter beyond the years 1 and 9999
        return None


def order_of(date: str) -> datetime:
    """To sort dates by; what is not a date comes first."""
    return moment_of(date) or datetime.min.replace(tzinfo=UTC)
