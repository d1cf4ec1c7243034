"""What the rules say of one row, in words."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

EXPECTED, LOW, HIGH, UNGRADED = "as expected", "low", "suspiciously high", "not graded"
MEANT = "low on purpose"  # a row that demonstrates what to avoid
GRADES = (EXPECTED, LOW, HIGH, MEANT, UNGRADED)
MODELLED = "modelled"  # behind what binds a row, where that is a prediction from elsewhere
FINE = (EXPECTED, MEANT, UNGRADED)  # nothing to look into


@dataclass(frozen=True)
class Cause:
    """A reason for a grade, seen in the row's own figures, which `evidence` quotes."""

    says: str
    change: str
    evidence: str


@dataclass(frozen=True)
class Verdict:
    """What the rules say of one row.

    label      what bounds it, as the file has it
    bound      the same in words, where a pattern knows more than the label
    shown      the figures that made it fit
    means      what that says of the hardware; empty where nothing says what binds the row
    wall       a name of `[[walls]]`; empty likewise
    share      measured over what its pattern allows; NaN where nothing says what that is
    yardstick  what it was compared with, in words
    expected   the lowest and the highest share as expected
    severity   1 at the edge of what is expected, more beyond; NaN where not graded
    measures   the roof that the row is a measurement of; empty for most
    no_grade   why it is not graded; empty where it is
    borrowed   whether what binds it is the label of the modelled run that ships, because the file
               has none
    """

    name: str
    concept: str
    label: str
    bound: str
    shown: str
    means: str
    wall: str
    grade: str
    share: float
    yardstick: str
    expected: tuple[float, float]
    severity: float
    causes: list[Cause] = field(default_factory=list)
    change: str = ""
    no_help: str = ""
    no_grade: str = ""
    measures: str = ""
    borrowed: bool = False

    @property
    def bound_words(self) -> str:
        """What bounds it; empty where nothing is known."""
        return f"{self.bound} ({MODELLED})" if self.bound and self.borrowed else self.bound

    @property
    def sentence(self) -> str:
        """Distance and wall in one sentence."""
        within = "; ".join(filter(None, (self.wall, self.shown, MODELLED * self.borrowed)))
        bound = f"bound by {self.bound} ({within})" if self.wall else "bound by nothing known"
        if math.isnan(self.share):
            return f"{bound}; {self.no_grade}"
        return f"{self.share * 100:.3g} % of {self.yardstick}, {bound}"

    @property
    def expectation(self) -> str:
        """Between what shares the row is as expected; empty where it is not graded."""
        if self.grade == UNGRADED:
            return ""
        low, high = (f"{share * 100:.3g}" for share in self.expected)
        return f"expected: {low}-{high} %"

    @property
    def why(self) -> str:
        """The causes that the row's own figures show, if there are any."""
        if self.causes:
            return "; ".join(
                cause.says if cause.evidence == self.shown else f"{cause.says} ({cause.evidence})"
                for cause in self.causes
            )
        return "the row's own figures do not show it"

    @property
    def lost(self) -> float:
        """The share of its time that the row would not take at the edge of what is expected."""
        return max(0.0, 1 - self.share / self.expected[0])

    @property
    def urgency(self) -> tuple[bool, float, float]:
        """What rows that are not as expected are sorted by: those that measure a roof first, since
        others lean on it, then by the time they lose."""
        return not self.measures, -self.lost, -self.severity

    @property
    def next_steps(self) -> list[str]:
        """What to do about the causes that are seen."""
        return [cause.change for cause in self.causes]


def worst(verdicts: Iterable[Verdict], count: int = 1) -> list[Verdict]:
    """The rows that are not as expected, the most urgent first, then those as expected that are
    the nearest to being low. One a concept, at most `count`; no demonstration. Empty where none was
    graded."""
    graded = [v for v in verdicts if not math.isnan(v.severity) and v.grade != MEANT]
    below = any(v.share < 1 for v in graded)
    off = [v for v in graded if v.grade != EXPECTED]
    fine = [v for v in graded if v.grade == EXPECTED]
    off.sort(key=lambda v: v.urgency)
    fine.sort(key=lambda v: (below and v.share >= 1, -v.severity))
    found: dict[str, Verdict] = {}
    for verdict in (*off, *fine):
        found.setdefault(verdict.concept, verdict)
    return list(found.values())[:count]
