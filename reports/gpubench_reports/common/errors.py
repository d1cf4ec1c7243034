"""The one kind of error that a user can cause."""


class ReportError(Exception):
    """A user's problem: `subject` (a file or a folder) and what is wrong with it, in one line."""

    def __init__(self, subject: object, problem: str) -> None:
        super().__init__(f"{subject}: {problem}")
        self.subject = str(subject)
        self.problem = problem

    def __reduce__(self):
        # Exceptions are rebuilt from their arguments when they cross from a worker process.
        return type(self), (self.subject, self.problem)
