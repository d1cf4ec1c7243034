"""What the page says, worked out once before any of it is drawn or written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench_reports.comparisons import speedups
from gpubench_reports.comparisons.compare import Comparison, compare
from gpubench_reports.comparisons.ranges import Range
from gpubench_reports.results.baselines import baseline_of
from gpubench_reports.results.explanations import Explanation, explanations_of
from gpubench_reports.results.reader import ResultFile
from gpubench_reports.rules.claims import Finding, judge_claims
from gpubench_reports.rules.diagnosis.diagnose import Diagnosis, why_changed
from gpubench_reports.rules.verdicts.health import Health, health
from gpubench_reports.rules.verdicts.judge import judge
from gpubench_reports.rules.verdicts.verdict import Verdict


@dataclass(frozen=True)
class Change:
    """What one other file has otherwise, and what would explain it, the likeliest first."""

    comparison: Comparison
    why: Sequence[Diagnosis]


@dataclass(frozen=True)
class Facts:
    """A result file, and all that is known of it."""

    result: ResultFile
    others: Sequence[ResultFile]
    verdicts: Mapping[str, Verdict]
    health: Health
    findings: Sequence[Finding]
    changes: Sequence[Change]
    means: speedups.Speedups | None  # over all files, where they are more than two
    explained: Sequence[Explanation] = ()  # kernels of its rows, of which a warp is drawn

    @property
    def comparisons(self) -> list[Comparison]:
        return [change.comparison for change in self.changes]


def gather(
    result: ResultFile,
    others: Sequence[ResultFile] = (),
    recorded: Sequence[Range] = (),
    explained: Sequence[Path] = (),
) -> Facts:
    """The facts about `result`, compared with `others`, else with what the model says of its
    device; `recorded` are ranges of its device, `explained` what other runs explain of its rows.

    Raises ReportError when another file has no row in common with this one.
    """
    others = others or _modelled(result)
    return Facts(
        result=result,
        others=others,
        verdicts=judge(result, recorded),
        health=health(result),
        findings=judge_claims(result),
        changes=[Change(compare(other, result), why_changed(other, result)) for other in others],
        means=speedups.table([result, *others]) if len(others) > 1 else None,
        explained=explanations_of(result, explained),
    )


def _modelled(result: ResultFile) -> list[ResultFile]:
    """What the model says of a measured file's device, where it has rows of the same names."""
    found = baseline_of(result)
    shared = found is not None and result.ok["name"].isin(found.ok["name"]).any()
    return [found] if found is not None and shared else []
