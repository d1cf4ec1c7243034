"""The one kind of error that a user can cause."""

from gpubench_reports.common.plain_text import clean

_MOST = 4000  # characters: a file may hold a word of any length


class ReportError(Exception):
    """A user's problem: `subject` (a file or a folder) and what is wrong with it, in one line.

    Both may come from a file: what a terminal would obey is taken out.
    """

    def __init__(self, subject: object, problem: str) -> None:
        self.subject = _line(str(subject))
        self.problem = _line(problem)
        super().__init__(f"{self.subject}: {self.problem}")

    def __reduce__(self) -> tuple[type["ReportError"], tuple[str, str]]:
        # Exceptions are rebuilt from their arguments when they cross from a worker process.
        return type(self), (self.subject, self.problem)


def _line(text: str) -> str:
    text = clean(text)
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."
