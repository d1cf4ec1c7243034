"""The axis of nights that every chart of the trend page has."""

from dataclasses import dataclass

WIDTH, MARGIN = 300.0, 4.0


@dataclass(frozen=True)
class NightAxis:
    """From the first to the last night shown; each has a slot of the same width."""

    first: int
    last: int

    @property
    def slot(self) -> float:
        return (WIDTH - 2 * MARGIN) / (self.last - self.first + 1)

    def x(self, night: int) -> float:
        """The middle of the night's slot."""
        return MARGIN + self.slot * (night - self.first + 0.5)
